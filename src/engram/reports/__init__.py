"""From records to what people look at: tables for the terminal, figures. Reports never train."""
