"""What several tests share: graphs, commands, servers, studies and their checks."""
