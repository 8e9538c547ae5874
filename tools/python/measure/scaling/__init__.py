"""Programs of others, fitted by `highwater fit` to four small recordings and compared with large ones."""
