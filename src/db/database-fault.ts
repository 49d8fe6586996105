import { Failure } from '../core/errors.ts';
import { sqlState } from './sql-state.ts';

const UNREACHABLE = 'The database is not reachable.';

/**
 * The fault of a database that refuses work whatever the statement: a public sentence by SQLSTATE, or else by its
 * class. The statement was rolled back, which does not hold for a lost connection.
 */
const SENTENCES: Readonly<Record<string, string>> = {
  '08': UNREACHABLE,
  25006: 'The database is read-only; nothing was stored.',
  53: 'The database is short of a resource; nothing was stored.',
  53100: "The database's disk is full; nothing was stored.",
  53200: 'The database is out of memory; nothing was stored.',
  53300: 'The database has no free connection; nothing was stored.',
  57: 'The database ended the statement; nothing was stored.',
  '57P01': UNREACHABLE,
  '57P02': UNREACHABLE,
  '57P03': UNREACHABLE,
  '57P04': UNREACHABLE,
  '57P05': UNREACHABLE,
  58: 'The database cannot use its files; nothing was stored.',
};
/** Writes keep failing after these until the operator has done something. */
const WRITE_FAULTS = /^(25006|53100|58)/;

const CONNECTION_CODES = /^(ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;
const CONNECTION_TEXTS =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;
const RETRY_AFTER_SECONDS = 5;

/** Returns a public sentence on what is wrong with the database, or undefined for an error that is not its fault. */
export function describeDatabaseFault(error: unknown): string | undefined {
  const state = sqlState(error);
  if (state !== undefined) {
    return Object.hasOwn(SENTENCES, state) ? SENTENCES[state] : SENTENCES[state.slice(0, 2)];
  }
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const isConnection =
    (typeof code === 'string' && CONNECTION_CODES.test(code)) ||
    (typeof message === 'string' && CONNECTION_TEXTS.test(message));
  return isConnection ? UNREACHABLE : undefined;
}

/** True when the database answers, but stores nothing. */
export function isWriteFault(error: unknown): boolean {
  return WRITE_FAULTS.test(sqlState(error) ?? '');
}

/** Returns the 503 for a fault of the database, or undefined for any other error. */
export function databaseFailure(error: unknown): Failure | undefined {
  const sentence = describeDatabaseFault(error);
  if (sentence === undefined) return undefined;
  return new Failure('unavailable', sentence, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error });
}
