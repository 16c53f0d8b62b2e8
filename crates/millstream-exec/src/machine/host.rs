use std::net::{IpAddr, SocketAddr};

/// Whether a host, with or without a port, is `localhost` or an IP address. A page of another site in a browser has
/// another host, even if that is resolved to this machine.
#[must_use]
pub fn is_here(host: &str) -> bool {
    let number = host.parse::<SocketAddr>().is_ok() || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    number || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::is_here;

    #[test]
    fn other_names_are_not_here() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080", "10.0.0.1:1"] {
            assert!(is_here(host), "{host}");
        }
        for host in ["", "example.org", "example.org:8080", "localhost.example.org", "127.0.0.1.example.org:80"] {
            assert!(!is_here(host), "{host}");
        }
    }
}
