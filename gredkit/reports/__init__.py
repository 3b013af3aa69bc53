"""Reports: frames from MLflow, statistics, tables, figures and the page; `generators` registers what is written."""
