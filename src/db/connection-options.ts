import type pg from 'pg';

/**
 * Session settings of every connection. Without them the kernel keeps a connection whose other end vanished for two hours,
 * with its locks: PostgreSQL notices after 20 s instead. No-ops on a Unix socket.
 */
const LIVENESS: Readonly<Record<string, string>> = {
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '20s',
  idle_in_transaction_session_timeout: '60s', // a forgotten transaction would block vacuum, and others' locks
};
/** Distinguishes a session whose settings arrived from one whose pooler dropped them. */
const ARRIVED = 'podyard.settings';
const KEEPALIVE_DELAY_MS = 5_000;
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Returns the driver's options for a connection. `settings` are server settings of its session; they win over those of
 * every connection, and `options` in the URL win over both.
 */
export function connectionOptions(options: {
  databaseUrl: string;
  applicationName: string;
  settings?: Readonly<Record<string, string>>;
  connectTimeoutMs?: number;
}): pg.ClientConfig {
  const { url, sessionOptions } = splitSessionOptions(options.databaseUrl);
  const settings = Object.entries({ ...LIVENESS, [ARRIVED]: 'on', ...options.settings }).map(
    ([name, value]) => `-c ${name}=${value}`,
  );
  return {
    connectionString: url,
    application_name: options.applicationName,
    options: [...settings, ...sessionOptions].join(' '),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY_MS,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
  };
}

/**
 * Makes sure of a new session's settings: a pooler may drop those of the connection's start (PgBouncer's
 * `ignore_startup_parameters`), and a session without its epoch would not be fenced.
 */
export async function ensureSettings(client: pg.ClientBase, settings: Readonly<Record<string, string>>): Promise<void> {
  const { rows } = await client.query<{ arrived: string | null }>('select current_setting($1, true) as arrived', [
    ARRIVED,
  ]);
  if (rows[0]!.arrived === 'on') return;
  await client.query('select set_config(name, value, false) from unnest($1::text[], $2::text[]) as s (name, value)', [
    Object.keys(settings),
    Object.values(settings),
  ]);
}

/** Closes a connection's socket at once. `end()` would wait for an answer that a vanished server never gives. */
export function destroyConnection(client: pg.ClientBase): void {
  const { connection } = client as unknown as { connection?: { stream?: { destroy(): void } } };
  connection?.stream?.destroy();
}

/** The driver lets `options` of the URL replace its own: they are taken out, to be appended. */
function splitSessionOptions(databaseUrl: string): { url: string; sessionOptions: string[] } {
  const [base, query] = databaseUrl.split('?', 2);
  const params = new URLSearchParams(query ?? '');
  const sessionOptions = params.getAll('options');
  if (sessionOptions.length === 0) return { url: databaseUrl, sessionOptions };
  params.delete('options');
  const rest = params.toString();
  return { url: rest === '' ? base! : `${base}?${rest}`, sessionOptions };
}
