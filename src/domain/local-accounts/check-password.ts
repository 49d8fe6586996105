import { Failure } from '../../core/errors.ts';
import { COMMON_WORDS, SEQUENCES } from './common-pieces.ts';

const MIN_PASSWORD_LENGTH = 12;
/** Longer ones are a burden for the server, and no safer. */
export const MAX_PASSWORD_LENGTH = 256;
/** How much has to be left of a password without what is easy to guess. */
const MIN_OWN_LENGTH = 6;
const MIN_DIFFERENT = 5;
/** A shorter part of a sequence, such as `56`, is in many good passwords. */
const MIN_SEQUENCE = 3;
const MIN_NAME_PART = 3;
const SPELLED: Record<string, string> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '1': 'i',
  '!': 'i',
  '0': 'o',
  $: 's',
  '5': 's',
};

/**
 * Refuses a password that is short, or little more than common words, years, keyboard rows and the owner's own name and email. Throws
 * `badRequest` with what to do.
 */
export function checkPassword(password: string, owner: { name: string; email: string | null }): void {
  const length = [...password].length;
  if (length < MIN_PASSWORD_LENGTH) throw refusal(`must have at least ${MIN_PASSWORD_LENGTH} characters`);
  if (length > MAX_PASSWORD_LENGTH) throw refusal(`must have at most ${MAX_PASSWORD_LENGTH} characters`);
  const plain = password.normalize('NFKC').toLowerCase();
  const words = [...namesIn(owner), ...COMMON_WORDS].sort((a, b) => b.length - a.length);
  const spelled = [...plain].map((character) => SPELLED[character] ?? character).join('');
  const left = Math.min(...[plain, spelled].map((text) => ownLength(text, words)));
  if (left < MIN_OWN_LENGTH || new Set(plain).size < MIN_DIFFERENT) {
    throw refusal(
      'is easy to guess: it is little more than common words, numbers in a row or your own name. Take several words that have nothing to do with each other.',
    );
  }
}

/** Counts the characters that neither belong to a word or sequence nor repeat the one before. */
function ownLength(text: string, words: readonly string[]): number {
  let own = 0;
  for (let at = 0; at < text.length; ) {
    const known = knownLength(text, at, words);
    if (known === 0 && text[at] !== text[at - 1] && /[\p{L}\p{N}]/u.test(text[at]!)) own += 1;
    at += known || 1;
  }
  return own;
}

/** The length of what is easy to guess at a place; 0 for nothing. */
function knownLength(text: string, at: number, words: readonly string[]): number {
  const word = words.find((candidate) => text.startsWith(candidate, at))?.length ?? 0;
  const year = /^(19|20)\d\d/.test(text.slice(at, at + 4)) ? 4 : 0;
  return Math.max(word, year, sequenceLength(text, at));
}

function sequenceLength(text: string, at: number): number {
  let longest = 0;
  for (const forward of SEQUENCES) {
    for (const sequence of [forward, [...forward].reverse().join('')]) {
      for (let begin = sequence.indexOf(text[at]!); begin >= 0; begin = sequence.indexOf(text[at]!, begin + 1)) {
        let length = 1;
        while (begin + length < sequence.length && sequence[begin + length] === text[at + length]) length += 1;
        longest = Math.max(longest, length);
      }
    }
  }
  return longest >= MIN_SEQUENCE ? longest : 0;
}

function namesIn({ name, email }: { name: string; email: string | null }): string[] {
  const parts = `${name} ${email ?? ''}`.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return parts.filter((part) => part.length >= MIN_NAME_PART);
}

function refusal(what: string): Failure {
  return new Failure('badRequest', `password: ${what}`);
}
