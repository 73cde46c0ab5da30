//! Who listens on a port that is in use, so that a person is told what to stop.

use std::collections::BTreeSet;
use std::fs;

/// State of a socket that listens, in `/proc/net/tcp` (`proc_net(5)`).
const LISTENS: &str = "0A";

/// Names the process that listens on a port, as far as this user may know it and the system tells
/// (only Linux does).
pub(super) fn of_port(port: u16) -> Option<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let sockets: BTreeSet<String> = tables
        .iter()
        .flatten()
        .flat_map(|table| sockets(table, port))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let number = numbers.find(|number| has_any(*number, &sockets))?;
    let name = fs::read_to_string(format!("/proc/{number}/comm"));
    // A process names itself, in any characters.
    let name = name
        .unwrap_or_default()
        .trim_end()
        .escape_debug()
        .to_string();
    Some(format!("{name} (process {number})"))
}

/// The numbers of the sockets in a table that listen on a port.
fn sockets(table: &str, port: u16) -> impl Iterator<Item = &str> {
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, its) = fields.get(1)?.rsplit_once(':')?;
        let is_meant = u16::from_str_radix(its, 16) == Ok(port) && *fields.get(3)? == LISTENS;
        fields.get(9).copied().filter(|_| is_meant)
    })
}

/// Whether a process has one of these sockets open.
fn has_any(process: u32, sockets: &BTreeSet<String>) -> bool {
    let open = fs::read_dir(format!("/proc/{process}/fd"));
    let mut open = open.into_iter().flatten().flatten();
    open.any(|entry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        target.to_str().is_some_and(|it| sockets.contains(it))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_listen_on_a_port_are_found() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F2B 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1
   1: 0100007F:1F2B 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1
   2: 00000000:1F2C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1
   3: damaged
";
        assert_eq!(sockets(table, 7_979).collect::<Vec<_>>(), ["4711"]);
        assert_eq!(sockets(table, 7_980).collect::<Vec<_>>(), ["4713"]);
        assert_eq!(sockets(table, 1).count(), 0);
        assert_eq!(sockets("", 7_979).count(), 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_named_if_it_listens() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let named = of_port(listener.local_addr().unwrap().port()).unwrap();
        let number = format!("(process {})", std::process::id());
        assert!(named.ends_with(&number), "{named}");
    }
}
