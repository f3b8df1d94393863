"""The pages: built files, and the page to sign in on. See `lakewarden.ui.pages`."""
