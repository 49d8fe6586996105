import { codeOf } from '../../runtimes/directories/folder.ts';

/** The errors of S3 that clients know, with their status; some of ours behind them (docs/interface/s3.md, "Errors"). */
const STATUSES = {
  AccessDenied: 403,
  AuthorizationHeaderMalformed: 400,
  AuthorizationQueryParametersError: 400,
  BadDigest: 400,
  BucketAlreadyOwnedByYou: 409,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  ExistingObjectIsDirectory: 409,
  IncompleteBody: 400,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidDigest: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedXML: 400,
  MethodNotAllowed: 405,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
  ObjectParentIsFile: 409,
  OperationAborted: 409,
  PreconditionFailed: 412,
  QuotaExceeded: 400,
  RequestTimeTooSkewed: 403,
  RequestTimeout: 400,
  SignatureDoesNotMatch: 403,
  SlowDown: 503,
  StorageFull: 507,
  XAmzContentSHA256Mismatch: 400,
} as const;
export type S3Code = keyof typeof STATUSES;

/** A failed request of S3, with a public message. */
export class S3Error extends Error {
  readonly code: S3Code;

  constructor(code: S3Code, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'S3Error';
    this.code = code;
  }

  get status(): number {
    return STATUSES[this.code];
  }
}

/** For a volume that does not exist or is another user's: nobody can tell which. */
export function noSuchBucket(): S3Error {
  return new S3Error('NoSuchBucket', 'There is no network volume with this id.');
}

export function noSuchKey(): S3Error {
  return new S3Error('NoSuchKey', 'There is no file with this key.');
}

/** `why`: the rest of a sentence. */
export function onlyFromPods(why: string): S3Error {
  const text = `Files of network volumes can be reached from their pods only: ${why}. Start a pod with the volume, and copy with: podyard cp <file> <pod>:/workspace/`;
  return new S3Error('NotImplemented', text);
}

/** Turns an error of the file system into one that says what stands in the way; others stay as they are. */
export function fromFileError(error: unknown): unknown {
  switch (codeOf(error)) {
    case 'ENOSPC':
      return new S3Error('StorageFull', 'The disk of this machine is full.', { cause: error });
    case 'EDQUOT':
      return new S3Error('QuotaExceeded', 'The network volume is full: enlarge it or delete files.', { cause: error });
    case 'ENOTDIR':
    case 'ELOOP':
      return new S3Error(
        'ObjectParentIsFile',
        'A part of the key before a slash is a file or a symbolic link, not a directory.',
        { cause: error },
      );
    case 'EISDIR':
    case 'ENOTEMPTY':
      return new S3Error('ExistingObjectIsDirectory', 'There is a directory with this key.', { cause: error });
    case 'ENAMETOOLONG':
      return new S3Error('KeyTooLongError', 'A part of the key between slashes is longer than 255 bytes.', {
        cause: error,
      });
    case 'EACCES':
    case 'EPERM':
      return new S3Error('AccessDenied', 'Podyard may not read or write this file: see its owner and mode.', {
        cause: error,
      });
    case 'EMFILE':
    case 'ENFILE':
      return new S3Error('SlowDown', 'The server has as many files open as it may: try again.', { cause: error });
    case 'ENOENT':
      return new S3Error('OperationAborted', 'The directory was removed meanwhile: try again.', { cause: error });
    case 'EROFS':
      return new S3Error('AccessDenied', 'The disk of this machine is mounted read-only.', { cause: error });
    default:
      return error;
  }
}
