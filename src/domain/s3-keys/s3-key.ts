import { Failure } from '../../core/errors.ts';
import type { S3KeyId, UserId } from '../../core/ids.ts';
import { parseScope, type Scope } from '../access/scopes.ts';

/** An access key of S3 as its owner sees it. The secret is not part of it: it is shown once, when the key is created. */
export interface S3Key {
  /** The access key id, which clients send. */
  id: S3KeyId;
  userId: UserId;
  name: string;
  /** Scopes of the area `files` only. */
  scopes: Scope[];
  createdAt: Date;
  /** Null: never. */
  expiresAt: Date | null;
  /** To about a minute. Null: never. */
  lastUsedAt: Date | null;
}

/** Throws `unprocessable` if the text is not a scope of the area `files`. */
export function parseFilesScope(text: string): Scope {
  const scope = parseScope(text);
  if (scope.kind === 'area' && scope.area === 'files') return scope;
  throw new Failure(
    'unprocessable',
    `'${text}' is not a scope of an S3 key: use files:read, files:write, files/<volume id>:read or files/<volume id>:write`,
  );
}
