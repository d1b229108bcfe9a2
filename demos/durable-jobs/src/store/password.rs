//! The password for a PostgreSQL, which is not to be in a command line, and in no message.

use std::path::PathBuf;
use std::{env, fs};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The first host and the database.
fn place(config: &Config) -> (String, String) {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        Some(Host::Unix(directory)) => directory.display().to_string(),
        None => "localhost".to_owned(),
    };
    (host, config.get_dbname().or(config.get_user()).unwrap_or_default().to_owned())
}

/// The name of a store for messages.
pub(super) fn without(url: &str) -> String {
    let place = url.parse().map(|config| place(&config));
    place.map_or_else(|_| "postgres".to_owned(), |(host, database)| format!("postgres://{host}/{database}"))
}

/// The password from `PGPASSWORD`, or from the file `PGPASSFILE`, `~/.pgpass` by default, as all programs of PostgreSQL have
/// it.
pub(super) fn find(config: &Config) -> Option<String> {
    env::var("PGPASSWORD").ok().or_else(|| {
        let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
        let file = env::var_os("PGPASSFILE").map(PathBuf::from).or_else(home)?;
        find_in(&fs::read_to_string(file).ok()?, config)
    })
}

fn find_in(file: &str, config: &Config) -> Option<String> {
    let (host, database) = place(config);
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let wanted = [&host, &port, &database, config.get_user().unwrap_or_default()];
    let lines = file.lines().filter(|line| !line.starts_with('#')).map(fields);
    let matches =
        |fields: &Vec<String>| fields.len() == 5 && fields.iter().zip(wanted).all(|(it, to)| it == "*" || it == to);
    lines.filter(matches).find_map(|mut fields| fields.pop())
}

/// The fields between colons. A letter after a backslash means itself.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut letters) = (Vec::new(), String::new(), line.chars());
    while let Some(letter) = letters.next() {
        match letter {
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            '\\' => field.extend(letters.next()),
            letter => field.push(letter),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_is_found_and_not_shown() {
        let file = "# comment\nother:5432:*:*:no\nh\\:x:*:*:*:no\nhost:5433:jobs:me:a\\:b:c\n*:*:*:you:last";
        let of = |url: &str| find_in(file, &url.parse().unwrap());
        assert_eq!(of("postgres://me@host:5433/jobs").as_deref(), Some("a:b:c"));
        assert_eq!(of("postgres://me@host/jobs"), None);
        assert_eq!(of("postgres://you@%2Frun/jobs").as_deref(), Some("last"));
        for url in
            ["postgres://me:s?cr@et@host/jobs", "postgres://host/jobs?password=s%40cret", "postgres://me:s@h:port/b"]
        {
            let shown = without(url);
            assert!(!shown.contains("cret") && !shown.contains(":s"), "{shown}");
        }
    }
}
