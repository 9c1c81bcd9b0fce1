"""Workloads played forward by the rules of sizing and of the services, without rows."""
