import { TextInput } from '@mantine/core';
import { addPasskey } from '../../api/local-account.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { Hint } from '../../ui/hint.tsx';
import { CurrentPassword } from './current-password.tsx';

/** A button that adds a passkey. `isProven`: the sign-in is fresh, and the password is not asked for. */
export function AddPasskey({ isProven }: { isProven: boolean }) {
  return (
    <FormButton
      label="Add a passkey"
      title="Add a passkey"
      submitLabel="Add"
      isInRow
      queryKey="local-account"
      initial={{ name: '', current: '' }}
      onSubmit={({ name, current }) => addPasskey(name, current)}
    >
      {(form) => (
        <>
          <Hint>The browser asks next where to keep it: on this device, on a phone or on a security key.</Hint>
          <TextInput
            label="Name"
            description="To tell it from others, such as the device"
            required
            autoComplete="off"
            data-autofocus
            {...form.getInputProps('name')}
          />
          <CurrentPassword isProven={isProven} label="Your password" {...form.getInputProps('current')} />
        </>
      )}
    </FormButton>
  );
}
