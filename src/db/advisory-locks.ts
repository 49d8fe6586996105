/**
 * PostgreSQL's advisory locks are numbers that all who share a database agree on. All of ours stand here, so that no two
 * mean the same; the values are arbitrary but must not change.
 */
export const ADVISORY_LOCKS = {
  /** Held while a migration runs. */
  migration: 7_063_925,
  /** Shared by every process that uses the embedded server; exclusive for the one that ends it. */
  embeddedServerUse: 7_063_926,
  /** Held by the process that leads. */
  leader: 7_063_927,
  /** Held while the first user is made. */
  firstUser: 7_063_928,
  /** Held while the master key is rotated. */
  keyRotation: 7_063_929,
  /** Held by a transaction that gives GPUs away, from its look at what is free until its commit. */
  capacity: 7_063_930,
} as const;
