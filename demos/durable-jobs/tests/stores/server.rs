//! A PostgreSQL of a test's own, in a temporary directory and on a socket there.

use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};

use crate::trial::insist;

pub(crate) struct Postgres {
    programs: PathBuf,
    directory: TempDir,
    server: Child,
}

/// Where Debian puts the newest server's programs, or whoever is on the PATH.
fn programs() -> Option<PathBuf> {
    let debian =
        fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut all: Vec<PathBuf> = std::env::split_paths(&path).chain(debian).collect();
    all.retain(|directory| directory.join("initdb").exists() && directory.join("postgres").exists());
    all.sort();
    all.pop()
}

/// A command as an ordinary user: PostgreSQL does not run as root.
fn as_a_user(program: &Path) -> Command {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

/// Says that a test is skipped where a server is missing, past the harness, which captures what a test prints.
///
/// # Panics
///
/// If servers are required.
pub(crate) fn skip(server: &str) {
    assert!(env::var_os("REQUIRE_SERVERS").is_none(), "{server} is not installed");
    let test = thread::current().name().unwrap_or("a test").to_owned();
    io::stderr().write_all(format!("{test}: skipped, because {server} is not installed\n").as_bytes()).unwrap();
}

impl Postgres {
    /// Starts one. `None` if there is none on this machine, which is said, and is an error where servers are required.
    pub(crate) fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            skip("PostgreSQL");
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            let given = Command::new("chown").arg("postgres:postgres").arg(directory.path()).status();
            assert!(given.unwrap().success());
        }
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let mut initdb = as_a_user(&programs.join("initdb"));
        initdb.current_dir(directory.path()).arg("--pgdata").arg(directory.path().join("data"));
        initdb.args(["--auth=trust", "--username=jobs", "--no-sync", "--no-locale", "--encoding=UTF8"]);
        let made = initdb.output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let server = Self::spawn(&programs, directory.path());
        Some(Self { programs, directory, server })
    }

    fn spawn(programs: &Path, directory: &Path) -> Child {
        let log = fs::File::options().create(true).append(true).open(directory.join("log")).unwrap();
        let mut command = as_a_user(&programs.join("postgres"));
        command.current_dir(directory).arg("-D").arg(directory.join("data")).arg("-k").arg(directory);
        // The machine does not crash, so there is no need to wait for its disk.
        command.args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=32MB"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    pub(crate) fn url(&self, database: &str) -> String {
        let host = self.directory.path().display().to_string().replace('/', "%2F");
        format!("postgres://jobs@{host}/{database}")
    }

    /// A connection, as soon as there can be one.
    pub(crate) async fn client(&self, database: &str) -> Client {
        insist(async || {
            let connected = tokio_postgres::connect(&self.url(database), NoTls).await;
            let (client, connection) = connected.map_err(|error| format!("{error}: {}", self.log()))?;
            tokio::spawn(connection);
            Ok::<_, String>(client)
        })
        .await
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Makes a database, and answers its name as a store.
    pub(crate) async fn database(&self, name: &str) -> String {
        self.client("postgres").await.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        self.url(name)
    }

    /// Makes a database and its tables. Answers its name for a user who may do nothing but what a worker needs.
    pub(crate) async fn worker_of(&self, database: &str) -> String {
        crate::shards(&[self.database(database).await]).await;
        let grant =
            "CREATE ROLE worker LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO worker";
        self.client(database).await.batch_execute(grant).await.unwrap();
        self.url(database).replace("jobs@", "worker@")
    }

    /// Cuts all connections but its own, again and again.
    pub(crate) async fn cut_connections(&self) {
        let client = self.client("postgres").await;
        loop {
            tokio::time::sleep(Duration::from_millis(150)).await;
            let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND random() < 0.3";
            client.execute(cut, &[]).await.unwrap();
        }
    }

    /// Kills the server without a warning, and starts it again. Until the last of its processes has noticed, it refuses to.
    pub(crate) async fn kill_and_start(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
        insist(async || {
            if self.server.try_wait().unwrap().is_some() {
                self.server = Self::spawn(&self.programs, self.directory.path());
            }
            // An answer, and not a connection: the old socket takes some as long as a process of the killed server has it.
            let answer = timeout(Duration::from_secs(1), tokio_postgres::connect(&self.url("postgres"), NoTls)).await;
            answer.is_ok_and(|answer| answer.is_ok()).then_some(()).ok_or_else(|| self.log())
        })
        .await;
    }
}

/// A way to a server on which connections fall silent, without an end.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    silence: watch::Sender<()>,
}

impl Proxy {
    pub(crate) async fn to(server: &Postgres) -> Self {
        let socket = server.directory.path().join(".s.PGSQL.5432");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, silence) = (listener.local_addr().unwrap().port(), watch::Sender::new(()));
        let proxy = Self { port, silence: silence.clone() };
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let (mut far, mut silence) =
                    (tokio::net::UnixStream::connect(&socket).await.unwrap(), silence.subscribe());
                tokio::spawn(async move {
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        // Held open: nobody is told.
                        _ = silence.changed() => std::future::pending().await,
                    }
                });
            }
        });
        proxy
    }

    /// Lets all connections fall silent. Those that are made from now on are not.
    pub(crate) fn silence(&self) {
        self.silence.send_replace(());
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // At an interrupt it cuts all connections and cleans up.
        let _ = Command::new("kill").args(["-INT", &self.server.id().to_string()]).status();
        let _ = self.server.wait();
    }
}

/// A PgBouncer in transaction mode in front of a server.
pub(crate) struct Bouncer(Child, TempDir);

impl Bouncer {
    /// `None` if there is none on this machine.
    pub(crate) fn start(server: &Postgres) -> Option<Self> {
        let path = env::split_paths(&env::var_os("PATH")?).chain([PathBuf::from("/usr/sbin")]).collect::<Vec<_>>();
        let program = path.into_iter().map(|directory| directory.join("pgbouncer")).find(|program| program.exists())?;
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let (at, server) = (directory.path().display(), server.directory.path().display());
        let file = directory.path().join("ini");
        let users = directory.path().join("users");
        let ini = format!(
            "[databases]\n* = host={server}\n[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = {at}\n\
             auth_type = trust\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = 2\n",
            users.display()
        );
        fs::write(&users, "\"jobs\" \"\"\n").unwrap();
        fs::write(&file, ini).unwrap();
        let child = as_a_user(&program).arg(file).stderr(Stdio::null()).spawn().unwrap();
        Some(Self(child, directory))
    }

    pub(crate) fn url(&self, database: &str) -> String {
        let host = self.1.path().display().to_string().replace('/', "%2F");
        format!("postgres://jobs@{host}:6432/{database}")
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
