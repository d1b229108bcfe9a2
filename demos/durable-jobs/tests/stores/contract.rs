//! What every store must do, whatever its engine.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use durable_jobs::clock::Clock;
use durable_jobs::error::{Error, Result};
use durable_jobs::store::{Claim, End, Job, Layout, Lease, MAX_NUMBER, MAX_PAYLOAD, News, Row, Store};
use durable_jobs::tenure;
use futures_util::StreamExt;
use tokio::time::timeout;

pub(crate) const LAYOUT: Layout = Layout { partitions: 4, shard: 0, shards: 1 };

/// How long news may take.
const PATIENCE: Duration = Duration::from_secs(20);

fn job(part: u32, id: u64, deadline: u64) -> Job {
    Job { part, id, deadline, payload: format!("job {id}").into_bytes() }
}

/// Checks an empty store. `open` opens it once more, as another process would.
pub(crate) async fn check(open: impl AsyncFn(Layout) -> Result<Arc<dyn Store>>) {
    let one = open(LAYOUT).await.unwrap();
    let two = open(LAYOUT).await.unwrap();
    puts_once_and_scans_in_order(&*one, &*two).await;
    moves_by_position_only(&*one, &*two).await;
    keeps_what_has_failed(&*one, &*two).await;
    gives_a_row_to_one_of_many(&one, &two).await;
    takes_what_is_largest(&*one).await;
    tells_after_the_commit_and_in_order(&*one, &*two).await;
    gives_a_lease_to_one_of_two(&*one, &*two).await;
    for other in
        [Layout { partitions: 8, ..LAYOUT }, Layout { shards: 2, ..LAYOUT }, Layout { shard: 1, shards: 2, ..LAYOUT }]
    {
        let refused = open(other).await.err();
        assert!(matches!(&refused, Some(Error::Refused(why)) if why.contains("partitions")), "{other:?}: {refused:?}");
    }
}

async fn empty(store: &dyn Store) {
    for part in LAYOUT.parts() {
        for (_, id) in store.scan(part, None, 100_000).await.unwrap() {
            assert!(store.cancel(part, id).await.unwrap());
        }
    }
}

async fn puts_once_and_scans_in_order(one: &dyn Store, two: &dyn Store) {
    let jobs = [job(1, 5, 100), job(1, 4, 200), job(1, 3, 100), job(2, 9, 50), job(1, 10, 100)];
    assert_eq!(one.put(&jobs).await.unwrap(), 5);
    assert_eq!(two.put(&[job(1, 5, 300), job(1, 6, 300)]).await.unwrap(), 1, "5 stays where it is");
    let all = [(100, 3), (100, 5), (100, 10), (200, 4), (300, 6)];
    for store in [one, two] {
        assert_eq!(store.scan(1, None, 100).await.unwrap(), all);
        assert_eq!(store.scan(1, None, 2).await.unwrap(), all[..2]);
        assert_eq!(store.scan(1, Some((100, 3)), 2).await.unwrap(), all[1..3]);
        assert_eq!(store.scan(1, Some((100, 4)), 100).await.unwrap(), all[1..]);
        assert_eq!(store.scan(1, Some((300, 6)), 100).await.unwrap(), []);
        assert_eq!(store.scan(2, None, 100).await.unwrap(), [(50, 9)]);
        assert_eq!(store.scan(3, None, 100).await.unwrap(), []);
    }
    assert_eq!(two.count(0).await.unwrap(), (0, 0));
    assert_eq!((one.count(1).await.unwrap(), two.count(2).await.unwrap()), ((5, 0), (1, 0)));
    assert!(one.cancel(1, 4).await.unwrap());
    assert!(!two.cancel(1, 4).await.unwrap() && !two.cancel(2, 4).await.unwrap());
    assert_eq!(two.scan(1, Some((100, 10)), 9).await.unwrap(), [(300, 6)]);
    empty(one).await;
}

async fn moves_by_position_only(one: &dyn Store, two: &dyn Store) {
    one.put(&[job(0, 1, 10), job(0, 2, 20), job(0, 3, 30)]).await.unwrap();
    let taken = |id, attempt| Claim::Taken { attempt, payload: job(0, id, 0).payload };
    let claims = one.claim(0, &[(10, 1), (15, 2), (20, 9)], 1_000).await.unwrap();
    assert_eq!(claims, [taken(1, 1), Claim::Moved((20, 2)), Claim::Gone]);
    assert_eq!(two.claim(0, &[(10, 1)], 2_000).await.unwrap(), [Claim::Moved((1_000, 1))]);
    assert_eq!(two.scan(0, None, 9).await.unwrap(), [(20, 2), (30, 3), (1_000, 1)]);
    // Who has lost a claim can settle nothing.
    let failed = End::Failed("late".to_owned());
    two.settle(
        0,
        &[
            ((10, 1), End::Done),
            ((15, 2), End::Later(5_000)),
            ((30, 3), End::Later(40)),
            ((7, 7), End::Done),
            ((9, 2), failed),
        ],
    )
    .await
    .unwrap();
    assert_eq!(one.scan(0, None, 9).await.unwrap(), [(20, 2), (40, 3), (1_000, 1)]);
    assert_eq!(two.claim(0, &[(20, 2), (1_000, 1)], 3_000).await.unwrap(), [taken(2, 1), taken(1, 2)]);
    one.settle(0, &[((1_000, 1), End::Done)]).await.unwrap();
    two.settle(0, &[((3_000, 1), End::Done), ((3_000, 2), End::Later(3_500))]).await.unwrap();
    assert_eq!(one.scan(0, None, 9).await.unwrap(), [(40, 3), (3_500, 2)]);
    assert_eq!(one.claim(0, &[(3_000, 1), (3_500, 2)], 4_000).await.unwrap(), [Claim::Gone, taken(2, 2)]);
    assert!(two.cancel(0, 2).await.unwrap(), "a job that was claimed can be cancelled");
    one.settle(0, &[((4_000, 2), End::Later(9_000))]).await.unwrap();
    assert_eq!(two.scan(0, None, 9).await.unwrap(), [(40, 3)]);
    empty(one).await;
}

async fn keeps_what_has_failed(one: &dyn Store, two: &dyn Store) {
    let rows: Vec<Row> = (1..=4).map(|id| (10, id)).collect();
    one.put(&rows.iter().map(|row| job(3, row.1, row.0)).collect::<Vec<_>>()).await.unwrap();
    one.claim(3, &rows, 100).await.unwrap();
    let fail = |error: &str| End::Failed(error.to_owned());
    let ends =
        [((100, 1), fail("no\nway\0")), ((10, 2), fail("late")), ((100, 3), fail("full")), ((100, 4), End::Done)];
    two.settle(3, &ends).await.unwrap();
    assert_eq!(one.scan(3, None, 9).await.unwrap(), [(100, 2)]);
    assert_eq!(one.count(3).await.unwrap(), (1, 2));
    let failed = one.failed(3, 9).await.unwrap();
    assert_eq!(failed.iter().map(|job| (job.id, job.attempts)).collect::<Vec<_>>(), [(1, 1), (3, 1)]);
    assert!(failed[0].error.starts_with("no\nway") && failed[1].error == "full", "{failed:?}");
    assert_eq!((one.failed(3, 1).await.unwrap().len(), one.failed(2, 9).await.unwrap().len()), (1, 0));
    // A job of the same id may be put, and then the old one stays where it is.
    assert_eq!(one.put(&[job(3, 1, 500)]).await.unwrap(), 1);
    let mut news = one.news().await.unwrap();
    assert_eq!(two.retry(3, &[1, 2, 3, 9], 700).await.unwrap(), 1);
    assert_eq!(timeout(PATIENCE, news.next()).await.unwrap(), Some(News::Inserted(3, (700, 3))));
    assert_eq!(one.scan(3, None, 9).await.unwrap(), [(100, 2), (500, 1), (700, 3)]);
    let claims = one.claim(3, &[(700, 3)], 900).await.unwrap();
    assert_eq!(claims, [Claim::Taken { attempt: 1, payload: job(3, 3, 0).payload }]);
    assert!(one.cancel(3, 1).await.unwrap());
    assert_eq!(one.retry(3, &[1], 800).await.unwrap(), 1);
    assert_eq!(one.retry(3, &[1], 800).await.unwrap(), 0);
    assert_eq!(two.count(3).await.unwrap(), (3, 0));
    empty(one).await;
}

async fn gives_a_row_to_one_of_many(one: &Arc<dyn Store>, two: &Arc<dyn Store>) {
    let rows: Vec<Row> = (0..50).map(|id| (10 + id / 7, id)).collect();
    one.put(&rows.iter().map(|row| job(3, row.1, row.0)).collect::<Vec<_>>()).await.unwrap();
    let mut rivals = Vec::new();
    for rival in 0..6 {
        let (store, rows) = (Arc::clone(if rival % 2 == 0 { one } else { two }), rows.clone());
        rivals.push(tokio::spawn(async move {
            let until = 1_000 + rival;
            loop {
                // An engine may find that two claims block each other, and give up one of them.
                let Ok(claims) = store.claim(3, &rows, until).await else { continue };
                break rows
                    .into_iter()
                    .zip(claims)
                    .filter_map(|(row, claim)| match claim {
                        Claim::Taken { attempt, .. } => Some((row.1, attempt)),
                        Claim::Moved((deadline, id)) => {
                            assert!(deadline >= 1_000 && id == row.1);
                            None
                        }
                        Claim::Gone => panic!("{row:?} is gone"),
                    })
                    .collect::<Vec<_>>();
            }
        }));
    }
    let mut taken = Vec::new();
    for rival in rivals {
        taken.extend(rival.await.unwrap());
    }
    taken.sort_unstable();
    assert_eq!(taken, (0..50).map(|id| (id, 1)).collect::<Vec<_>>());
    empty(&**one).await;
}

async fn takes_what_is_largest(store: &dyn Store) {
    let large = |id| Job { payload: vec![7; MAX_PAYLOAD], ..job(0, id, MAX_NUMBER) };
    let jobs = [job(0, 0, 0), large(MAX_NUMBER - 1), large(MAX_NUMBER)];
    assert_eq!(store.put(&jobs).await.unwrap(), 3);
    let rows = [(0, 0), (MAX_NUMBER, MAX_NUMBER - 1), (MAX_NUMBER, MAX_NUMBER)];
    assert_eq!(store.scan(0, None, 9).await.unwrap(), rows);
    assert_eq!(store.scan(0, Some(rows[1]), 9).await.unwrap(), rows[2..]);
    assert_eq!(store.scan(0, Some(rows[2]), 9).await.unwrap(), []);
    let claims = store.claim(0, &rows[2..], MAX_NUMBER - 5).await.unwrap();
    assert_eq!(claims, [Claim::Taken { attempt: 1, payload: vec![7; MAX_PAYLOAD] }]);
    empty(store).await;
}

async fn tells_after_the_commit_and_in_order(one: &dyn Store, two: &dyn Store) {
    let mut news = two.news().await.unwrap();
    let (mut wanted, mut seen) = (Vec::new(), Vec::new());
    for id in 0..20 {
        one.put(&[job(1, id, 100 + id)]).await.unwrap();
        wanted.push(News::Inserted(1, (100 + id, id)));
        if id % 4 == 0 {
            one.cancel(1, id).await.unwrap();
            wanted.push(News::Removed(1, (100 + id, id)));
        }
    }
    // More than one message can hold.
    let many: Vec<Job> = (0..1_000).map(|id| job(2, MAX_NUMBER - id, MAX_NUMBER - 1)).collect();
    one.put(&many).await.unwrap();
    one.put(&many[..1]).await.unwrap(); // it is there already
    while seen.len() < wanted.len() + 1_000 {
        let told = timeout(PATIENCE, news.next()).await;
        seen.push(told.unwrap_or_else(|_| panic!("{} were told", seen.len())).unwrap());
    }
    assert_eq!(seen[..wanted.len()], wanted);
    let inserted: BTreeSet<u64> = seen[wanted.len()..]
        .iter()
        .map(|news| match news {
            News::Inserted(2, row) if row.0 == MAX_NUMBER - 1 => row.1,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(inserted.len(), 1_000, "each is told once");
    empty(one).await;
}

async fn gives_a_lease_to_one_of_two(one: &dyn Store, two: &dyn Store) {
    let far = Clock::default().now_ms() + 600_000;
    let lease = |key, owner, epoch| Lease { key, owner, epoch, until: far, floor: far + epoch };
    let seen = async |store: &dyn Store, key| store.leases().await.unwrap().into_iter().find(|lease| lease.key == key);
    assert_eq!(one.lease(&[lease(7, 1, 1), lease(8, 1, 1)]).await.unwrap(), [true, true]);
    assert_eq!(two.lease(&[lease(7, 2, 1)]).await.unwrap(), [false]);
    assert_eq!(two.lease(&[lease(7, 2, 2), lease(8, 2, 1)]).await.unwrap(), [true, false]);
    assert_eq!(one.lease(&[lease(7, 1, 2)]).await.unwrap(), [false], "it is another's now");
    assert_eq!((seen(one, 7).await, seen(one, 8).await), (Some(lease(7, 2, 2)), Some(lease(8, 1, 1))));
    assert_eq!(seen(one, 9).await, None);
    // Renewed by its owner, and wanted by one who has seen the old end.
    assert_eq!(two.lease(&[Lease { until: far + 60_000, ..lease(7, 2, 3) }]).await.unwrap(), [true]);
    assert_eq!(one.lease(&[lease(7, 1, 3)]).await.unwrap(), [false]);
    let given_back = Lease { until: 0, ..lease(7, 2, 4) };
    assert_eq!(two.lease(&[given_back]).await.unwrap(), [true]);
    assert_eq!(seen(one, 7).await, Some(given_back));
    assert_eq!(one.lease(&[lease(7, 1, 5)]).await.unwrap(), [true]);
    assert_eq!(seen(two, 7).await.map(|lease| lease.owner), Some(1));
    tenure::release(two, 1).await.unwrap();
    assert!(one.leases().await.unwrap().iter().all(|lease| lease.until == 0));
}
