// How the reference page is made: one page, by section, of what src/index.ts exports.
import {
  Comment,
  CommentTag,
  Converter,
  OptionDefaults,
  ReflectionFlag,
  ReflectionKind,
} from "typedoc";
import { MarkdownPageEvent, MarkdownTheme, MarkdownThemeContext } from "typedoc-plugin-markdown";

/** Sections of the page, and the files and folders whose exports they show. */
const SECTIONS = {
  Agents: ["src/agents/"],
  Environments: ["src/environments/"],
  "Benchmark programs": ["src/experiments/"],
  Connecting: ["src/connect.ts", "src/program.ts", "src/net/"],
  "Specifications and rows": ["src/spec.ts", "src/phase.ts", "src/conforming.ts"],
  Errors: ["src/errors.ts"],
  "Random numbers": ["src/rng.ts"],
};

const LONGEST = 60; // characters of a signature's parameters on one line

/** As typedoc-plugin-markdown's, without what the declarations say already. */
class Context extends MarkdownThemeContext {
  constructor(...given) {
    super(...given);
    const { groups, signatureParameters, ...partials } = this.partials;
    this.partials = {
      ...partials,
      groups: (model, options) =>
        model.kind === ReflectionKind.Project
          ? groups(model, options)
          : this.#members(model, options),
      accessor: ({ getSignature }) => this.#declaration(getSignature, { accessor: "get" }),
      constructor: ({ signatures }) =>
        signatures.map((each) => this.#declaration(each, {})).join("\n\n"),
      hierarchy: ({ types, isTarget }) => {
        const shown = types.filter((each) => each.reflection);
        if (isTarget || shown.length === 0) return "";
        return `Extends ${shown.map((each) => partials.someType(each)).join(", ")}.`;
      },
      inheritance: () => "",
      signatureParameters: (model, options) => {
        const parts = model.map((each) => signatureParameters([each], options).slice(1, -1));
        const line = parts.join(", ");
        return line.length <= LONGEST ? `(${line})` : `(\n  ${parts.join(",\n  ")},\n)`;
      },
      signatureReturns: () => "",
    };
  }

  /** Constructors, a table of the fields, then everything else, without headings of kinds. */
  #members({ kind, children }, options) {
    const of = (wanted) => children.filter((each) => each.kindOf(wanted));
    const fields = of(ReflectionKind.Property);
    const values = of(ReflectionKind.EnumMember);
    const others = of(ReflectionKind.Accessor | ReflectionKind.Method);
    return [
      ...of(ReflectionKind.Constructor).map((each) => this.partials.constructor(each)),
      fields.length > 0 && this.partials.propertiesTable(fields, { kind }),
      values.length > 0 && this.partials.enumMembersTable(values),
      this.partials.members(others, options),
    ]
      .filter(Boolean)
      .join("\n\n");
  }

  #declaration(signature, options) {
    const { comment } = signature;
    const title = this.partials.signatureTitle(signature, options);
    return comment ? `${title}\n\n${this.partials.comment(comment)}` : title;
  }
}

class Theme extends MarkdownTheme {
  getRenderContext(page) {
    return new Context(this, page, this.application.options);
  }
}

function sectionOf(context, exported) {
  const [declaration] = context.getSymbolFromReflection(exported).declarations;
  const file = declaration.getSourceFile().fileName;
  for (const [title, places] of Object.entries(SECTIONS)) {
    if (places.some((place) => file.includes(`/${place}`))) return title;
  }
  throw new Error(`${exported.name} of ${file} is in no section: add it in typedoc.config.js`);
}

/** Whether the class needs no words on it: it is another class's, or a constructor without arguments. */
function isTold(member) {
  if (!member.kindOf(ReflectionKind.Constructor)) {
    return Boolean((member.inheritedFrom ?? member.overwrites)?.reflection);
  }
  return Boolean(member.inheritedFrom) || !member.signatures[0].parameters?.length;
}

function load(app) {
  app.renderer.defineTheme("reglue", Theme);
  app.renderer.on(MarkdownPageEvent.END, (page) => {
    page.contents = page.contents.replaceAll(/^\*\*\*\n/gm, ""); // headings part its names
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => {
    for (const exported of context.project.children) {
      const title = [{ kind: "text", text: sectionOf(context, exported) }];
      if (exported.kindOf(ReflectionKind.Function)) exported.comment = new Comment();
      exported.comment?.blockTags.push(new CommentTag("@group", title)); // else it is refused
    }
  });
  // What a class takes over, or overrides, has its words at the class that it is from.
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    const members = project.getReflectionsByKind(ReflectionKind.ClassMember);
    for (const each of members.filter(isTold)) project.removeReflection(each);
    for (const each of project.getReflectionsByKind(ReflectionKind.Class)) {
      each.setFlag(ReflectionFlag.Abstract, false); // its words say so: headings are names
    }
    for (const each of project.getReflectionsByKind(ReflectionKind.Parameter)) {
      if (each.name === "__namedParameters") each.name = "options";
    }
  });
}

export default {
  entryPoints: ["src/index.ts"],
  out: "../../build/api/typescript",
  plugin: ["typedoc-plugin-markdown", load],
  theme: "reglue",
  readme: "none",
  disableSources: true,
  skipErrorChecking: true, // `npm run check` has looked
  excludePrivate: true,
  excludeExternals: true,
  sort: ["source-order"],
  groupOrder: Object.keys(SECTIONS),
  blockTags: [...OptionDefaults.blockTags, "@generated"],
  // Every name has words; a field whose type's words tell it needs none of its own.
  requiredToBeDocumented: [
    "Enum",
    "Class",
    "Interface",
    "TypeAlias",
    "Function",
    "Method",
    "Accessor",
  ],
  validation: { notDocumented: true, notExported: true, invalidLink: true },
  treatWarningsAsErrors: true,
  outputFileStrategy: "modules",
  hidePageHeader: true,
  hidePageTitle: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  useCustomAnchors: true,
  expandParameters: true,
  parametersFormat: "none",
  enumMembersFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  tableColumnSettings: { hideDefaults: true, hideInherited: true, hideModifiers: true },
};
