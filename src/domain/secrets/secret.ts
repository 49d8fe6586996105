import type { SecretId, UserId } from '../../core/ids.ts';

/** A value that containers can be given without anybody being able to read it back. */
export interface Secret {
  id: SecretId;
  userId: UserId;
  name: string;
  description: string | null;
  createdAt: Date;
  updatedAt: Date;
}

/** What names a secret in a value of its `env`. */
export interface SecretUse {
  kind: 'template' | 'endpoint' | 'pod';
  id: string;
  name: string;
}

/** docs/interface/rest.md, "Secrets". A name of the reserved prefix is none. */
export const SECRET_NAME = /^[a-zA-Z_][a-zA-Z0-9_.\-/]*$/;
export const RESERVED_PREFIX = 'RUNPOD';
export const MAX_SECRET_NAME_LENGTH = 191;
