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

/** rest.md section 9: names begin with a letter or an underscore, and not with RUNPOD. */
export const SECRET_NAME = /^(?!RUNPOD)[a-zA-Z_][a-zA-Z0-9_.\-/]*$/;
export const MAX_SECRET_NAME_LENGTH = 191;
