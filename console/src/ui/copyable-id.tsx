import { CopyButton, Tooltip, UnstyledButton } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';

/** An id, or other short code, that copies itself when it is clicked. `what` names it for screen readers. */
export function CopyableId({ id, what = 'ID' }: { id: string; what?: string }) {
  return (
    <CopyButton value={id}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : `Copy ${what}`}>
          <UnstyledButton
            className="copyable-id"
            aria-label={`Copy ${what} ${id}`}
            onClick={(event) => {
              event.stopPropagation(); // in a row that is a link
              copy();
            }}
          >
            {id}
            {copied ? <IconCheck size={13} aria-hidden /> : <IconCopy size={13} aria-hidden />}
          </UnstyledButton>
        </Tooltip>
      )}
    </CopyButton>
  );
}
