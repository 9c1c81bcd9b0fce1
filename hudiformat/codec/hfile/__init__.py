"""HFiles, the key-value files of HBase: reader and writer.  Pure."""
