//! The statements.

/// The channel of the news. A notification names up to [`TOLD`] rows, so that it has less than the 8,000 bytes that it may.
pub const CHANNEL: &str = "durable_job";
const TOLD: usize = 120;

pub const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS durable_layout (one INT PRIMARY KEY, layout TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS durable_lease (
        key BIGINT PRIMARY KEY, owner BIGINT NOT NULL, epoch BIGINT NOT NULL, until BIGINT NOT NULL,
        floor BIGINT NOT NULL);
    CREATE TABLE IF NOT EXISTS durable_job (
        part INT NOT NULL, id BIGINT NOT NULL, deadline BIGINT NOT NULL, attempts INT NOT NULL, payload BYTEA NOT NULL,
        PRIMARY KEY (part, id));
    CREATE TABLE IF NOT EXISTS durable_failed (
        part INT NOT NULL, id BIGINT NOT NULL, attempts INT NOT NULL, error TEXT NOT NULL, payload BYTEA NOT NULL,
        PRIMARY KEY (part, id));
    CREATE INDEX IF NOT EXISTS durable_job_due ON durable_job (part, deadline, id)";

pub const PUT: &str = "changed AS (INSERT INTO durable_job SELECT part, id, deadline, 0, payload
    FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bytea[]) AS new (part, id, deadline, payload)
    ON CONFLICT (part, id) DO NOTHING RETURNING part, deadline, id)";
pub const CANCEL: &str =
    "changed AS (DELETE FROM durable_job WHERE part = $1 AND id = $2 RETURNING part, deadline, id)";
pub const RETRY: &str = "back AS (DELETE FROM durable_failed WHERE part = $1 AND id = ANY($2)
        AND NOT EXISTS (SELECT FROM durable_job AS job WHERE job.part = $1 AND job.id = durable_failed.id)
        RETURNING part, id, payload),
    changed AS (INSERT INTO durable_job SELECT part, id, $3, 0, payload FROM back RETURNING part, deadline, id)";
pub const FAIL: &str = "WITH failed AS (DELETE FROM durable_job
        USING unnest($2::bigint[], $3::bigint[], $4::text[]) AS failed (deadline, id, error)
        WHERE part = $1 AND durable_job.id = failed.id AND durable_job.deadline = failed.deadline
        RETURNING part, durable_job.id, attempts, error, payload)
    INSERT INTO durable_failed SELECT * FROM failed ON CONFLICT (part, id)
    DO UPDATE SET attempts = EXCLUDED.attempts, error = EXCLUDED.error, payload = EXCLUDED.payload";
pub const FAILED: &str = "SELECT id, attempts, error FROM durable_failed WHERE part = $1 ORDER BY id LIMIT $2";
pub const SCAN: &str = "SELECT deadline, id FROM durable_job WHERE part = $1 AND (deadline, id) > ($2, $3)
    ORDER BY deadline, id LIMIT $4";
pub const CLAIM: &str = "UPDATE durable_job SET deadline = $2, attempts = attempts + 1
    FROM unnest($3::bigint[], $4::bigint[]) AS due (deadline, id)
    WHERE part = $1 AND durable_job.id = due.id AND durable_job.deadline = due.deadline
    RETURNING durable_job.id, attempts, payload";
pub const FIND: &str = "SELECT id, deadline FROM durable_job WHERE part = $1 AND id = ANY($2)";
pub const REMOVE: &str = "DELETE FROM durable_job USING unnest($2::bigint[], $3::bigint[]) AS done (deadline, id)
    WHERE part = $1 AND durable_job.id = done.id AND durable_job.deadline = done.deadline";
pub const MOVE: &str = "UPDATE durable_job SET deadline = later.later
    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS later (deadline, id, later)
    WHERE part = $1 AND durable_job.id = later.id AND durable_job.deadline = later.deadline";
pub const LEASES: &str = "SELECT key, owner, epoch, until, floor FROM durable_lease ORDER BY key";
pub const LEASE: &str = "INSERT INTO durable_lease
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
    ON CONFLICT (key) DO UPDATE SET owner = EXCLUDED.owner, epoch = EXCLUDED.epoch, until = EXCLUDED.until,
        floor = EXCLUDED.floor
    WHERE durable_lease.epoch = EXCLUDED.epoch - 1 RETURNING key";
pub const COUNT: &str = "SELECT (SELECT count(*) FROM durable_job WHERE part = $1),
    (SELECT count(*) FROM durable_failed WHERE part = $1)";

/// What answers how many rows a statement has changed, and tells of them with a sign.
pub(super) fn counted(sql: &str, sign: char, news: bool) -> String {
    let told = format!(
        ", numbered AS (SELECT '{sign}' || part || ' ' || deadline || ' ' || id AS row, row_number() OVER () / {TOLD} AS page
            FROM changed),
        told AS (SELECT pg_notify('{CHANNEL}', string_agg(row, ',')) FROM numbered GROUP BY page)
        SELECT count(*), (SELECT count(*) FROM told) FROM changed"
    );
    format!("WITH {sql} {}", if news { &told } else { "SELECT count(*) FROM changed" })
}
