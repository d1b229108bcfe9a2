//! What the commands have in common on the command line.

use std::time::Duration;

use clap::{Args, value_parser};

use crate::error::Result;
use crate::store::{Options, Shards};

#[derive(Args, Clone, Debug)]
pub struct StoreArgs {
    /// A file of redb, or postgres://USER@HOST/DATABASE, with the password in PGPASSWORD or PGPASSFILE. With several, each
    /// has its share of the partitions, and all commands must name them in the same order [default: jobs.redb, and for the
    /// demo a file of its own]
    #[arg(long = "store", global = true, value_name = "STORE")]
    pub names: Vec<String>,
    /// Partitions in all stores. It cannot be changed later
    #[arg(long, global = true, default_value_t = 16, value_parser = value_parser!(u32).range(1..=4096))]
    pub partitions: u32,
    /// Neither send nor listen to notifications, which some databases that speak PostgreSQL's protocol lack. Give workers a
    /// short --reload then
    #[arg(long, global = true)]
    pub no_news: bool,
    /// Prepare no statements, for PgBouncer in transaction mode, which passes no notifications either
    #[arg(long, global = true, requires = "no_news")]
    pub no_prepare: bool,
    /// How long a server may be silent. After that the connection is given up
    #[arg(long, global = true, default_value = "2s", value_parser = |text: &str| span(text, 100))]
    pub patience: Duration,
}

impl StoreArgs {
    pub fn new(names: &[String], partitions: u32) -> Self {
        let Options { patience, .. } = Options::default();
        Self { names: names.to_vec(), partitions, no_news: false, no_prepare: false, patience }
    }

    pub async fn open(&self) -> Result<Shards> {
        self.open_with(false).await
    }

    /// Opens the stores, and makes the tables where there are none.
    pub async fn make(&self) -> Result<Shards> {
        self.open_with(true).await
    }

    async fn open_with(&self, makes_tables: bool) -> Result<Shards> {
        let default = ["jobs.redb".to_owned()];
        let names = if self.names.is_empty() { &default[..] } else { &self.names };
        Shards::open(names, self.partitions, &self.options(makes_tables)).await
    }

    pub fn options(&self, makes_tables: bool) -> Options {
        Options { news: !self.no_news, prepares: !self.no_prepare, patience: self.patience, makes_tables }
    }
}

/// A time as people write it, from so many milliseconds to a day.
pub fn span(text: &str, least_ms: u64) -> std::result::Result<Duration, String> {
    let least = Duration::from_millis(least_ms);
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let is_allowed = (least..=Duration::from_secs(86_400)).contains(&time);
    is_allowed.then_some(time).ok_or_else(|| format!("from {} to 1day", humantime::format_duration(least)))
}
