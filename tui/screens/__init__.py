"""The panes of the dashboard and the dialogs over them."""
