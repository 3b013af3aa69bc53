"""Reports: frames from MLflow, tables, figures and the page; what is written is registered in `generators`."""
