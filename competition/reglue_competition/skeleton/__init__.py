"""What `reglue competition init` writes: a competition file, and a package for hidden tasks."""
