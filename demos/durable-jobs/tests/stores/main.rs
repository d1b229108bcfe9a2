//! Durable jobs on real stores: what a store must do, what workers promise on it, and what users type.

#![allow(unused_crate_dependencies, missing_docs, reason = "a test")]

mod commands;
mod contract;
#[cfg(feature = "etcd")]
mod ensemble;
mod kills;
mod server;
mod trial;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use durable_jobs::args::StoreArgs;
use durable_jobs::compare;
use durable_jobs::store::{End, Layout, News, Options, Shards, open, postgres};

/// No module uses another that uses it in turn, over whatever others.
#[test]
fn modules_go_in_no_circle() {
    fn text_of(path: &Path) -> String {
        match std::fs::read_dir(path) {
            Ok(entries) => entries.map(|entry| text_of(&entry.unwrap().path())).collect(),
            Err(_) => std::fs::read_to_string(path).unwrap_or_default(),
        }
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let library = text_of(&source.join("lib.rs"));
    let names: Vec<&str> =
        library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let uses = |name: &str| {
        let text = text_of(&source.join(name)) + &text_of(&source.join(format!("{name}.rs")));
        names.iter().copied().filter(|other| *other != name && text.contains(&format!("crate::{other}::"))).collect()
    };
    let mut left: BTreeMap<&str, Vec<&str>> = names.iter().map(|name| (*name, uses(name))).collect();
    assert!(left["cli"].contains(&"demo"));
    while let Some(last) = left.keys().find(|name| left[*name].iter().all(|used| !left.contains_key(used))).copied() {
        left.remove(last);
    }
    assert!(left.is_empty(), "a circle: {left:?}");
}

/// Stores whose servers are not silent, but may take seconds to answer on a busy machine.
pub(crate) fn args(names: &[String], partitions: u32) -> StoreArgs {
    StoreArgs { patience: trial::PATIENCE, ..StoreArgs::new(names, partitions) }
}

fn options() -> Options {
    args(&[], 4).options(false)
}

/// Opens stores by name, with four partitions in all.
pub(crate) async fn shards(names: &[String]) -> Shards {
    args(names, 4).make().await.unwrap()
}

fn file(directory: &Path) -> String {
    directory.join("jobs.redb").display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn redb_does_what_a_store_must() {
    let directory = tempfile::tempdir().unwrap();
    let name = file(directory.path());
    contract::check(async |layout| open(&name, layout, &options()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redb_serves_two_owners_though_it_fails() {
    let directory = tempfile::tempdir().unwrap();
    let shards = shards(&[file(directory.path())]).await;
    trial::a_clock_is_set_back_during_a_claim(&shards).await;
    trial::lost_news_are_looked_for(&shards).await;
    trial::two_owners_of_faulty_stores(&shards).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redb_serves_workers_that_come_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let names: Vec<String> = ["a", "b"].iter().map(|name| directory.path().join(name).display().to_string()).collect();
    let (owner, guest) = (shards(&names).await, shards(&names).await);
    trial::workers_that_come_and_go(&guest).await;
    trial::another_worker_dies_with_its_claim(&guest).await;
    drop(owner);
    // The guest opens the files.
    trial::workers_that_come_and_go(&guest).await;
}

#[tokio::test]
async fn redb_shares_partitions_in_time() {
    let directory = tempfile::tempdir().unwrap();
    trial::shares_are_even_in_time(&args(&[file(directory.path())], 16).make().await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redb_shares_partitions_among_many() {
    let directory = tempfile::tempdir().unwrap();
    let shards = args(&[file(directory.path())], 16).make().await.unwrap();
    trial::leases_of_a_wrong_clock_end(&shards).await;
    trial::slow_jobs_hold_no_others(&shards).await;
    trial::a_job_that_kills_its_workers_is_given_up(&shards).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redb_lives_through_kills_of_workers() {
    let directory = tempfile::tempdir().unwrap();
    kills::of_workers(&[file(directory.path())], async || {}).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes an hour"]
async fn redb_stays_flat_in_a_soak() {
    let directory = tempfile::tempdir().unwrap();
    kills::soak(&[file(directory.path())], async || {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_does_what_a_store_must() {
    let Some(server) = server::Postgres::start() else { return };
    let name = server.worker_of("contract").await;
    contract::check(async |layout| open(&name, layout, &options()).await).await;
    let names = [server.database("a").await, server.database("b").await];
    let shards = shards(&names).await;
    trial::workers_that_come_and_go(&shards).await;
    trial::another_worker_dies_with_its_claim(&shards).await;
    let silent = StoreArgs { no_news: true, ..args(&[server.database("silent").await], 4) };
    let without_news = silent.make().await.unwrap();
    trial::what_is_never_told_is_found(&without_news).await;
    trial::two_owners_of_faulty_stores(&without_news).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_serves_two_owners_though_connections_are_cut() {
    let Some(server) = server::Postgres::start() else { return };
    let names = [server.database("a").await, server.database("b").await];
    let shards = shards(&names).await;
    tokio::select! {
        () = trial::two_owners_of_faulty_stores(&shards) => {}
        () = server.cut_connections() => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_runs_jobs_once_though_transactions_meet() {
    let Some(server) = server::Postgres::start() else { return };
    let name = server.database("serializable").await;
    let isolate = "ALTER DATABASE serializable SET default_transaction_isolation = serializable";
    server.client("postgres").await.batch_execute(isolate).await.unwrap();
    trial::transactions_meet(&shards(&[name]).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_lives_through_kills_of_workers_and_server() {
    let Some(mut server) = server::Postgres::start() else { return };
    let name = server.database("kills").await;
    shards(std::slice::from_ref(&name)).await;
    kills::of_workers(&[name], async || server.kill_and_start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes an hour"]
async fn postgres_stays_flat_in_a_soak() {
    let Some(mut server) = server::Postgres::start() else { return };
    let name = server.database("soak").await;
    shards(std::slice::from_ref(&name)).await;
    kills::soak(&[name], async || server.kill_and_start().await).await;
}

/// Connections that fall silent are given up, those of the news as well: nothing waits for the reload.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_gives_up_silent_connections() {
    let Some(server) = server::Postgres::start() else { return };
    let name = server.database("silence").await;
    let direct = shards(std::slice::from_ref(&name)).await;
    let proxy = server::Proxy::to(&server).await;
    let args = args(&[format!("postgres://jobs@127.0.0.1:{}/silence", proxy.port)], 4);
    let shards = StoreArgs { patience: Duration::from_millis(500), ..args }.open().await.unwrap();
    trial::connections_fall_silent(&shards, &direct, || proxy.silence()).await;
}

/// Where the server keeps no prepared statement, none is asked for: PgBouncer in transaction mode, if it is installed.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_no_statements_if_asked_not_to() {
    let Some(server) = server::Postgres::start() else { return };
    let name = server.database("unprepared").await;
    let bouncer = server::Bouncer::start(&server);
    shards(std::slice::from_ref(&name)).await;
    let name = bouncer.as_ref().map_or(name, |bouncer| bouncer.url("unprepared"));
    let args = StoreArgs { no_news: true, no_prepare: true, ..args(std::slice::from_ref(&name), 4) };
    let shards = trial::insist(async || args.open().await).await;
    trial::two_owners_of_faulty_stores(&shards).await;
    let store = postgres::Postgres::open(&name, shards.stores[0].0, &args.options(false)).await.unwrap();
    let kept = store.run("SELECT count(*) FROM pg_prepared_statements", &[]).await.unwrap();
    assert_eq!(kept[0].get::<_, i64>(0), 0);
}

/// The user of a server that forgets prepared statements is told what helps.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_that_forgets_statements_is_refused() {
    let Some(server) = server::Postgres::start() else { return };
    let name = server.database("forgets").await;
    let layout = shards(std::slice::from_ref(&name)).await.stores[0].0;
    let store = postgres::Postgres::open(&name, layout, &options()).await.unwrap();
    for sql in ["SELECT 1", "DEALLOCATE ALL"] {
        store.run(sql, &[]).await.unwrap();
    }
    let refused = store.run("SELECT 1", &[]).await.unwrap_err().to_string();
    assert!(refused.contains("use --no-prepare"), "{refused}");
}

/// A service puts a job beside its own rows, by the statements that the README has. Their partition is that of `put`.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_takes_jobs_of_other_transactions() {
    let Some(server) = server::Postgres::start() else { return };
    let shards = args(&[server.database("service").await], 16).make().await.unwrap();
    let client = server.client("service").await;
    let readme = include_str!("../../README.md");
    let sql = readme.split("```sql").nth(1).unwrap().split("```").next().unwrap();
    client.batch_execute("CREATE TABLE invoice (id BIGINT PRIMARY KEY)").await.unwrap();
    let mut news = shards.stores[0].1.news().await.unwrap();
    client.batch_execute(sql).await.unwrap();
    let part = shards.part_of(42);
    let row = shards.store_of(part).scan(part, None, 9).await.unwrap()[0];
    assert_eq!(row.1, 42);
    let wait = row.0 as i64 - durable_jobs::clock::Clock::default().now_ms() as i64;
    assert!((500_000..=600_000).contains(&wait), "{wait} ms");
    let told = tokio::time::timeout(trial::PATIENCE, futures_util::StreamExt::next(&mut news)).await.unwrap();
    assert_eq!(told, Some(News::Inserted(part, row)));
    let rolled_back = sql.replace("42", "43").replace("COMMIT", "ROLLBACK");
    client.batch_execute(&rolled_back).await.unwrap();
    assert!(!shards.cancel(43).await.unwrap());
    let hash = "('x' || left(md5(id::text), 8))::bit(32)::bigint";
    assert!(sql.contains(&format!("{hash} % 16")));
    // By a prime, so that every bit counts.
    let layout = Layout { partitions: 4_093, ..shards.stores[0].0 };
    let many = Shards { stores: vec![(layout, Arc::clone(&shards.stores[0].1))] };
    let all = client.query(&format!("SELECT id, ({hash} % 4093)::int FROM generate_series(0, 999) AS id"), &[]).await;
    for row in all.unwrap() {
        assert_eq!(row.get::<_, i32>(1) as u32, many.part_of(row.get::<_, i32>(0) as u64), "{row:?}");
    }
}

/// Commands look and make nothing: beside a transaction that is open, and without tables they refuse.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_has_its_tables_made_by_migrate_only() {
    let Some(server) = server::Postgres::start() else { return };
    let name = server.database("tables").await;
    for command in [&["status"][..], &["put", "x"], &["cancel", "7"], &["worker"]] {
        let (status, _, err) = commands::run(&[command, &["--store", &name]].concat());
        assert!(status == 2 && err.lines().count() == 1 && err.contains("durable-jobs migrate"), "{command:?}: {err}");
    }
    assert_eq!(commands::run(&["migrate", "--store", &name]), (0, String::new(), String::new()));
    assert_eq!(commands::run(&["migrate", "--store", &name]).0, 0, "what is there stays as it is");
    let open_transaction = server.client("tables").await;
    let begin = "BEGIN; INSERT INTO durable_job VALUES (0, 1, 1, 0, '')";
    open_transaction.batch_execute(begin).await.unwrap();
    let commands = tokio::task::spawn_blocking(move || {
        for command in [&["put", "x", "--id", "7", "--in", "1h"][..], &["status"], &["cancel", "7"]] {
            assert_eq!(commands::run(&[command, &["--store", &name]].concat()).0, 0, "{command:?}");
        }
        let layout = "UPDATE durable_layout SET layout = 'durable-jobs 0: 16 partitions, store 1 of 1'";
        (name, layout)
    });
    let (name, layout) = tokio::time::timeout(trial::PATIENCE, commands).await.unwrap().unwrap();
    open_transaction.batch_execute(&format!("ROLLBACK; {layout}")).await.unwrap();
    let (status, _, err) = commands::run(&["status", "--store", &name]);
    assert!(status == 2 && err.contains("this is \"durable-jobs 0:"), "{err}");
}

/// A scan begins where the window ends, beyond the rows that were deleted and cannot be cleaned up.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_scans_no_graveyard() {
    let Some(server) = server::Postgres::start() else { return };
    let name = server.database("graves").await;
    let by_index = "ALTER DATABASE graves SET enable_seqscan = off; ALTER DATABASE graves SET enable_bitmapscan = off";
    server.client("postgres").await.batch_execute(by_index).await.unwrap();
    let shards = args(std::slice::from_ref(&name), 1).make().await.unwrap();
    let store = shards.store_of(0);
    let open_transaction = server.client("graves").await;
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM durable_job";
    open_transaction.batch_execute(begin).await.unwrap();
    for ids in [0..5_000, 5_000..10_000_u64] {
        let rows: Vec<_> = ids.map(|id| (1 + id / 100, id)).collect();
        shards.put(rows.iter().map(|row| (row.1, row.0, Vec::new())).collect()).await.unwrap();
        let claimed = store.claim(0, &rows, 1_000).await.unwrap();
        assert_eq!(claimed.len(), 5_000);
        store.settle(0, &rows.iter().map(|row| ((1_000, row.1), End::Done)).collect::<Vec<_>>()).await.unwrap();
    }
    shards.put(vec![(77, 2_000, Vec::new())]).await.unwrap();
    assert_eq!(store.scan(0, Some((1_000, 9_999)), 10).await.unwrap(), [(2_000, 77)]);
    let store = postgres::Postgres::open(&name, shards.stores[0].0, &options()).await.unwrap();
    let pages = async |deadline| compare::buffers(&store, deadline).await.unwrap();
    let (from_the_first, from_the_bound) = (pages(0).await, pages(1_001).await);
    assert!(from_the_bound < 20 && from_the_first > 10 * from_the_bound, "{from_the_first} and {from_the_bound} pages");
    drop(open_transaction);
}
