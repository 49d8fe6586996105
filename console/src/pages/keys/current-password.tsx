import { PasswordInput, type PasswordInputProps } from '@mantine/core';

/** Asks for the password, unless the sign-in is fresh enough to stand for it. */
export function CurrentPassword({ isProven, ...input }: PasswordInputProps & { isProven: boolean }) {
  return isProven ? null : <PasswordInput required autoComplete="current-password" {...input} />;
}
