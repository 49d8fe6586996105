/** Five letters or digits, but none of the system's codes such as EPIPE: no class of PostgreSQL begins with an E. */
const SQLSTATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/;

/** Returns the SQLSTATE of a failed statement, or undefined for any other error (a lost connection, say). */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && SQLSTATE.test(code) ? code : undefined;
}
