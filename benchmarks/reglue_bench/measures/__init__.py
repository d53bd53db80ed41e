"""What runs are judged by: success, returns, or performance while the agent learns."""
