//! A TCP proxy between a worker and its engine, which may be cut: then nothing passes, in either
//! direction, and nobody is told.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// A proxy for one server. Its threads end with the test.
pub(crate) struct Proxy {
    port: u16,
    /// That of the connections that are made now.
    gate: Arc<Mutex<Arc<Gate>>>,
}

/// What lets bytes through.
#[derive(Default)]
struct Gate {
    is_cut: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    /// Waits until bytes may pass.
    fn pass(&self) {
        let mut is_cut = self.is_cut.lock().expect("no thread panics with it");
        while *is_cut {
            is_cut = self.changed.wait(is_cut).expect("no thread panics with it");
        }
    }
}

impl Proxy {
    /// Starts a proxy for the server at a port of loopback.
    pub(crate) fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let port = listener.local_addr().expect("it is bound").port();
        let gate: Arc<Mutex<Arc<Gate>>> = Arc::default();
        let proxy = Self {
            port,
            gate: Arc::clone(&gate),
        };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let gate = Arc::clone(&gate.lock().expect("no thread panics with it"));
                gate.pass();
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    carry(&client, &server, &gate);
                    carry(&server, &client, &gate);
                }
            }
        });
        proxy
    }

    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Lets nothing through, or all again.
    pub(crate) fn cut(&self, is_cut: bool) {
        let gate = self.gate.lock().expect("no thread panics with it");
        *gate.is_cut.lock().expect("no thread panics with it") = is_cut;
        gate.changed.notify_all();
    }

    /// Lets nothing through any more on the connections that there are, and all on new ones.
    pub(crate) fn abandon(&self) {
        self.cut(true);
        *self.gate.lock().expect("no thread panics with it") = Arc::default();
    }
}

/// Carries what one end sends to the other, until either is closed.
fn carry(from: &TcpStream, to: &TcpStream, gate: &Arc<Gate>) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else {
        return;
    };
    let gate = Arc::clone(gate);
    thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        while let Ok(read) = from.read(&mut bytes) {
            gate.pass();
            if read == 0 || to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}
