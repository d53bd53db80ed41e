"""Files of `reglue competition init`: a competition file, and a package for hidden tasks."""
