import type { SecretId, UserId } from '../../core/ids.ts';

/** A write-only value for the environment of containers. */
export interface Secret {
  id: SecretId;
  userId: UserId;
  name: string;
  description: string | null;
  createdAt: Date;
  updatedAt: Date;
}

/** A record that references a secret in its `env`. */
export interface SecretUse {
  kind: 'template' | 'endpoint' | 'pod';
  id: string;
  name: string;
}

/** docs/interface/rest.md, "Secrets". A name with the reserved prefix is not valid. */
export const SECRET_NAME = /^[a-zA-Z_][a-zA-Z0-9_.\-/]*$/;
export const RESERVED_PREFIX = 'RUNPOD';
export const MAX_SECRET_NAME_LENGTH = 191;
