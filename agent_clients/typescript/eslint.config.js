// typescript-eslint's recommended rules, those that need types too.
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  { ignores: ["dist/", "src/gen/", "eslint.config.js", "typedoc.config.js"] },
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: "test" }] },
      ],
      "@typescript-eslint/no-unused-vars": ["error", { args: "none" }], // of routines to override
      "@typescript-eslint/only-throw-error": ["error", { allowThrowingUnknown: true }], // a signal's reason
      "@typescript-eslint/require-await": "off", // a function that is async rejects, and never throws
    },
  },
);
