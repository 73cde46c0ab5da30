//! A headless Chromium, driven over two pipes (`--remote-debugging-pipe`): one that resolves no
//! name and forgets everything at its end. Nothing here sleeps: what is waited for is looked at
//! inside the page until it is there, and fails after [`PATIENCE`].

use std::env;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::PATIENCE;

/// Names the browser that is to be used.
pub(crate) const VARIABLE: &str = "TEST_CHROMIUM";

/// Names of browsers that understand the protocol.
const NAMES: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "chrome-headless-shell",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// The browser of this machine, if it has one.
pub(crate) fn found() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        if let Some(named) = env::var_os(VARIABLE) {
            return Some(PathBuf::from(named)).filter(|it| it.is_file());
        }
        let paths = env::var_os("PATH").unwrap_or_default();
        let in_path = |name| env::split_paths(&paths).map(move |it| it.join(name));
        let mut all = NAMES.into_iter().flat_map(in_path);
        all.find(|it| it.is_file())
    };
    FOUND.get_or_init(find).clone()
}

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    /// Number of the last message.
    sent: u64,
    session: Option<String>,
    /// What happened on its own.
    happened: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts one whose page is empty.
    pub(crate) fn start() -> Self {
        let program = found().expect("the test asks for one");
        let profile = tempfile::tempdir().expect("there is a directory for temporary files");
        let mut data = OsString::from("--user-data-dir=");
        data.push(profile.path());
        // The protocol is spoken over descriptors 3 and 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null", "sh"])
            .arg(program)
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--no-first-run",
                "--disable-gpu",
                "--disable-breakpad",
                "--disable-dev-shm-usage",
                "--disable-component-update",
                "--disable-background-networking",
                "--disable-extensions",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                "--lang=en-US",
            ])
            .arg(data)
            .arg("about:blank")
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let to = child.stdin.take().expect("it is piped");
        let out = child.stdout.take().expect("it is piped");
        let (sender, from) = channel();
        thread::spawn(move || {
            for message in BufReader::new(out).split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("it speaks JSON");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            child,
            to,
            from,
            sent: 0,
            session: None,
            happened: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let id = target["targetId"].clone();
        let attached = browser.call(
            "Target.attachToTarget",
            json!({ "targetId": id, "flatten": true }),
        );
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.size(1_440, 900);
        browser
    }

    /// Calls a method of the protocol.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method });
        message["params"] = parameters;
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        let deadline = Instant::now() + 2 * PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut message = match self.from.recv_timeout(left) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => panic!("{method} has no answer"),
                Err(RecvTimeoutError::Disconnected) => panic!("the browser ended at {method}"),
            };
            if message["id"] == self.sent {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
            self.happened.push(message);
        }
    }

    /// Opens an address, and waits until the page is there.
    #[track_caller]
    pub(crate) fn open(&mut self, url: &str) {
        // A change of the fragment alone would open nothing.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        let answer = self.call("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{url}: {answer}");
        self.wait("document.readyState === 'complete'");
    }

    /// The value of an expression, or of the promise that it gives.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let mut answer = self.call(
            "Runtime.evaluate",
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true }),
        );
        let failure = &answer["exceptionDetails"];
        assert!(failure.is_null(), "{expression}: {failure}");
        answer["result"]["value"].take()
    }

    /// Waits until an expression is true, and returns it.
    #[track_caller]
    pub(crate) fn wait(&mut self, expression: &str) -> Value {
        let patience = PATIENCE.as_millis();
        let looking = format!(
            "new Promise((done, fail) => {{
                const end = Date.now() + {patience};
                const look = () => {{
                    let found = null;
                    try {{ found = {expression}; }} catch (error) {{ found = null; }}
                    if (found) done(found);
                    else if (Date.now() > end) fail(new Error(document.body.innerText.slice(0, 2000)));
                    else setTimeout(look, 20);
                }};
                look();
            }})"
        );
        self.value(&looking)
    }

    /// Presses the button or link with this text or label, when it is there.
    #[track_caller]
    pub(crate) fn press(&mut self, name: &str) {
        let name = json!(name);
        self.wait(&format!(
            "(() => {{
                const all = [...document.querySelectorAll('button, a, [role=button]')];
                const of = (it) => (it.getAttribute('aria-label') ?? it.innerText).trim();
                const found = all.find((it) => of(it) === {name} && !it.disabled);
                found?.click();
                return Boolean(found);
            }})()"
        ));
    }

    /// Types a text into the field that a selector names.
    #[track_caller]
    pub(crate) fn fill(&mut self, selector: &str, text: &str) {
        let selector = json!(selector);
        self.wait(&format!(
            "(document.querySelector({selector})?.focus(), \
             document.activeElement?.matches({selector}))"
        ));
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// The size of the window in pixels; a narrow one is a phone's.
    pub(crate) fn size(&mut self, width: u32, height: u32) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 }),
        );
    }

    /// Whether the reader prefers dark colours.
    pub(crate) fn dark(&mut self, is_dark: bool) {
        let scheme = if is_dark { "dark" } else { "light" };
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
    }

    /// A picture of the page as PNG, for whoever looks at the output of tests.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let data = shot["data"].as_str().expect("a picture is text");
        let data = base64::engine::general_purpose::STANDARD.decode(data);
        data.expect("it is base64")
    }

    /// The parameters of what happened on its own of this kind, since the last time.
    pub(crate) fn take(&mut self, method: &str) -> Vec<Value> {
        // What happened before an answer comes before it.
        self.value("null");
        let (taken, left) = std::mem::take(&mut self.happened)
            .into_iter()
            .partition(|it| it["method"] == method);
        self.happened = left;
        let taken: Vec<Value> = taken;
        taken
            .into_iter()
            .map(|mut it| it["params"].take())
            .collect()
    }

    /// What the page complained of: messages of the console and errors that nobody caught.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        for it in self.take("Runtime.exceptionThrown") {
            found.push(it["exceptionDetails"].to_string());
        }
        for it in self.take("Runtime.consoleAPICalled") {
            if matches!(it["type"].as_str(), Some("error" | "warning" | "assert")) {
                found.push(it["args"].to_string());
            }
        }
        for it in self.take("Log.entryAdded") {
            if matches!(it["entry"]["level"].as_str(), Some("error" | "warning")) {
                found.push(it["entry"].to_string());
            }
        }
        found
    }

    /// The addresses that were asked for.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        let asked = self.take("Network.requestWillBeSent");
        let url = |it: &Value| it["request"]["url"].as_str().map(str::to_owned);
        asked.iter().filter_map(url).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Its helpers end with it, and may still be writing to the profile.
        let _ = self.from.recv_timeout(Duration::from_secs(5));
    }
}
