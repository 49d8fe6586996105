/**
 * The numbers of all PostgreSQL advisory locks that Podyard takes, in one place so that no two collide. The values are
 * arbitrary but must not change: versions that run side by side share them.
 */
export const ADVISORY_LOCKS = {
  /** Held while a migration runs. */
  migration: 7_063_925,
  /** Shared by every process that uses the embedded server; exclusive for the one that stops it. */
  embeddedServerUse: 7_063_926,
  /** Held by the leader. */
  leader: 7_063_927,
  /** Held while the first user is created. */
  firstUser: 7_063_928,
  /** Held while the master key is rotated. */
  keyRotation: 7_063_929,
  /** Held by a transaction that allocates GPUs, from reading what is free until its commit. */
  capacity: 7_063_930,
  /** Shared by transactions of control that write; exclusive for the process that increments the epoch. */
  epoch: 7_063_931,
  /** With a hash of a template's id: held by a transaction that changes the template and the endpoints that follow it. */
  followedTemplate: 7_063_932,
  /** Held while a person becomes a user at their first sign-in with a provider. */
  firstSignIn: 7_063_934,
} as const;

export type AdvisoryLock = (typeof ADVISORY_LOCKS)[keyof typeof ADVISORY_LOCKS];
