import { Failure } from '../../core/errors.ts';
import type { DueSource } from '../../domain/git-sources/git-source-store.ts';
import { addressOf } from '../../domain/git-sources/git-url.ts';
import type { GitResult } from './run-git.ts';

const MAX_CHARS = 300;

/** A failure that may pass: the look is repeated. */
export class PassingGitFailure extends Failure {}

/**
 * Returns what a failure of git means, as a sentence with what to do. `secrets`: what no text may show. `maxBytes`: the size at which
 * git was ended.
 */
export function gitFailure(
  { url, secret, auth }: Pick<DueSource, 'url' | 'secret' | 'auth'>,
  { end, stderr, isTooLong }: GitResult,
  { secrets, maxBytes }: { secrets: readonly string[]; maxBytes: number },
): Failure {
  const { host } = addressOf(url);
  const fail = (text: string) => new Failure('unprocessable', text);
  const passing = (text: string) => new PassingGitFailure('unavailable', text);
  const has = (pattern: RegExp) => pattern.test(stderr);
  if (end === 127) return gitIsMissing();
  if (has(/ssh: not found/)) {
    return fail(
      'The server has no ssh: install it there (on Debian: apt-get install openssh-client), then sync again.',
    );
  }
  if (isTooLong || has(/File too large/)) {
    return fail(`The repository at ${url} has more than ${sizeText(maxBytes)}: name a smaller one.`);
  }
  if (has(/could not read (?:Username|Password)|Authentication failed|error: 40[13]\b/)) {
    if (auth === 'TOKEN')
      return fail(`${host} refused the token in the secret '${secret}': give it one that may read ${url}.`);
    return fail(`${host} asks for credentials, or there is no repository ${url}: a private one needs a token.`);
  }
  if (has(/Permission denied \(|Load key /)) {
    return fail(`${host} refused the deploy key: add its public half to the repository ${url}.`);
  }
  if (has(/Host key verification failed|HOST IDENTIFICATION HAS CHANGED/)) {
    return fail(
      `The host key of ${host} is not the one that was seen first: disconnect and connect again if it was replaced.`,
    );
  }
  if (has(/not found\b|error: 404\b|does not appear to be a git repository/i)) {
    return fail(`There is no repository ${url}, or what is given may not read it.`);
  }
  if (has(/error: 30[12378]\b|redirect/i))
    return fail(`${url} leads to another place: give the URL of the repository itself.`);
  if (
    has(
      /Could not resolve|Failed to connect|Connection (?:refused|timed out|reset|closed)|Operation (?:timed out|too slow)|error: 5\d\d\b|No route to host|SSL|TLS|early EOF|hung up/,
    )
  ) {
    return passing(`${url} cannot be reached: ${lastLine(stderr, secrets)}`);
  }
  return fail(`Git could not read ${url}: ${lastLine(stderr, secrets) || `it ended with ${end}`}`);
}

export function gitIsMissing(): Failure {
  return new Failure(
    'unprocessable',
    'The server has no git: install it there (on Debian: apt-get install git), then sync again. Podyard’s own image cannot: run the server from a package.',
  );
}

function sizeText(bytes: number): string {
  return bytes >= 2 ** 30 ? `${bytes / 2 ** 30} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
}

/** Returns the last thing that git said for itself, without credentials and control sequences of terminals. */
function lastLine(stderr: string, secrets: readonly string[]): string {
  const lines = stderr.split(/[\r\n]+/).filter((line) => line.trim() !== '');
  const line = lines.findLast((one) => /^(?:fatal|error|ssh): /.test(one)) ?? lines.at(-1) ?? '';
  const masked = secrets.reduce((text, secret) => (secret === '' ? text : text.replaceAll(secret, '***')), line);
  return masked.replaceAll(/\p{Cc}/gu, '�').slice(0, MAX_CHARS);
}
