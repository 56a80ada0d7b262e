"""An independent reader of Tidemark logs, written from Specs/format.md and Specs/recovery.md alone."""
