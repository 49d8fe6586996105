import { FAILURES, Failure, isReported } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { databaseFailure } from '../../db/database-fault.ts';
import type { CallRequest } from '../../http/call-messages.ts';
import { sendXml } from './s3-call.ts';
import { fromFileError, S3Error } from './s3-error.ts';
import type { S3Response } from './s3-response.ts';

/** Answers a request that failed, as far as it is not answered yet. */
export function refuse(logger: Logger, { req, res }: { req: CallRequest; res: S3Response }, thrown: unknown): void {
  const { requestId } = res;
  const { status, code, message } = describe(logger, thrown, requestId);
  if (res.isOver) return;
  if (res.headersSent && !res.isXmlOpen) {
    res.destroy();
    return;
  }
  if (req.method === 'HEAD') {
    res.writeHead(status, {});
    res.end();
    return;
  }
  const [Resource] = req.url!.split('?');
  sendXml(res, status, 'Error', { Code: code, Message: message, Resource, RequestId: requestId });
}

function describe(
  logger: Logger,
  thrown: unknown,
  requestId: string,
): { status: number; code: string; message: string } {
  const error = fromFileError(databaseFailure(thrown) ?? thrown);
  if (error instanceof S3Error) return { status: error.status, code: error.code, message: error.message };
  if (error instanceof Failure) {
    const code =
      error.kind === 'unavailable'
        ? 'ServiceUnavailable'
        : error.kind === 'tooManyRequests'
          ? 'SlowDown'
          : 'AccessDenied';
    return { status: FAILURES[error.kind].status, code, message: error.message };
  }
  if (!isReported(error)) logger.error({ err: thrown, requestId }, 's3 request failed');
  return { status: 500, code: 'InternalError', message: 'The server failed; its log says why.' };
}
