import './form-layout.css';
import { Group, Stack } from '@mantine/core';
import type { FormEventHandler, ReactNode } from 'react';
import { FormAlert } from '../error-alert.tsx';

interface FormLayoutProps {
  onSubmit: FormEventHandler<HTMLFormElement>;
  /** Above the fields: that changes were restored. */
  note?: ReactNode;
  /** Above the fields: choices that fill several of them. */
  presets?: ReactNode;
  /** Beside the fields, on a narrow screen below them: a Summary. */
  summary?: ReactNode;
  /** Errors that no field can show. */
  errors: readonly string[];
  /** The buttons; the last one saves. */
  actions: ReactNode;
  children: ReactNode;
}

/** Every form: fields at the left, what they amount to at the right, with the buttons. Without a summary, one column. */
export function FormLayout({ onSubmit, note, presets, summary, errors, actions, children }: FormLayoutProps) {
  const end = (
    <>
      <FormAlert errors={errors} />
      <Group gap="xs" className="form-actions">
        {actions}
      </Group>
    </>
  );
  return (
    <form noValidate onSubmit={onSubmit} className="form-layout" data-columns={summary === undefined ? 1 : 2}>
      <Stack miw={0}>
        {note}
        {presets}
        {children}
        {summary === undefined && end}
      </Stack>
      {summary !== undefined && (
        <div>
          <Stack gap="sm" className="form-side">
            {summary}
            {end}
          </Stack>
        </div>
      )}
    </form>
  );
}
