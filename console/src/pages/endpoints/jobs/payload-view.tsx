import {
  ActionIcon,
  Button,
  Code,
  Group,
  Paper,
  SegmentedControl,
  Skeleton,
  Stack,
  Text,
  Tooltip,
} from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import type { JobErrorText } from '../../../../../src/core/text/job-error.ts';
import { request } from '../../../api/client.ts';
import { CopyIcon } from '../../../ui/copyable.tsx';
import { ErrorAlert } from '../../../ui/error-alert.tsx';
import { Hint } from '../../../ui/hint.tsx';
import { saveFile } from '../../../ui/save-file.ts';
import { formatBytes, isJson, MAX_SHOWN_CHARACTERS, prettyJson, SHOWN_BYTES } from './payload-text.ts';

interface StoredPayloadProps {
  title: string;
  path: string;
  bytes: number;
  fileName: string;
  /** Changes when the payload may have. */
  version: string;
}

/** A payload on the server. A large one is loaded on demand. */
export function StoredPayload({ title, path, bytes, fileName, version }: StoredPayloadProps) {
  const [isAsked, setAsked] = useState(false);
  const isShown = isAsked || bytes <= SHOWN_BYTES;
  const query = useQuery({
    queryKey: ['payload', path, version],
    enabled: isShown,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    queryFn: async ({ signal }) => (await request(path, { signal })).text(),
  });
  if (query.error) return <ErrorAlert error={query.error} retry={() => void query.refetch()} />;
  if (query.data !== undefined)
    return <PayloadText title={title} text={query.data} bytes={bytes} fileName={fileName} />;
  return (
    <Stack gap={6}>
      <PayloadTitle title={title} bytes={bytes} />
      {isShown ? (
        <Skeleton h={60} aria-label="Loading" />
      ) : (
        <Group>
          <Button variant="default" size="xs" onClick={() => setAsked(true)}>
            Load {formatBytes(bytes)}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

/** A text, usually JSON: indented or as it is, to copy and to download. Of a long one the beginning is shown. */
export function PayloadText(props: { title: string; text: string; bytes?: number; fileName: string }) {
  const { title, text, fileName } = props;
  const bytes = props.bytes ?? new Blob([text]).size;
  const isLong = text.length > MAX_SHOWN_CHARACTERS;
  const hasForms = useMemo(() => !isLong && isJson(text), [text, isLong]);
  const [form, setForm] = useState('pretty');
  const shown = useMemo(() => {
    if (isLong) return text.slice(0, MAX_SHOWN_CHARACTERS);
    return form === 'pretty' ? prettyJson(text) : text;
  }, [text, isLong, form]);
  return (
    <Stack gap={6}>
      <PayloadTitle title={title} bytes={bytes}>
        {hasForms && (
          <SegmentedControl
            size="xs"
            aria-label={`Form of the ${title.toLowerCase()}`}
            value={form}
            onChange={setForm}
            data={[
              { value: 'pretty', label: 'Pretty' },
              { value: 'raw', label: 'Raw' },
            ]}
          />
        )}
        <CopyIcon text={form === 'pretty' && !isLong ? shown : text} what={title.toLowerCase()} />
        <Tooltip label="Download">
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Download the ${title.toLowerCase()}`}
            onClick={() => saveFile(fileName, new Blob([text], { type: 'application/octet-stream' }))}
          >
            <IconDownload size={16} />
          </ActionIcon>
        </Tooltip>
      </PayloadTitle>
      <Code block className="payload" tabIndex={0} role="region" aria-label={title}>
        {shown}
      </Code>
      {isLong && <Hint size="xs">This is the beginning. The download has all of it.</Hint>}
    </Stack>
  );
}

function PayloadTitle({ title, bytes, children }: { title: string; bytes: number; children?: ReactNode }) {
  return (
    <Group justify="space-between" gap="xs" mih={30}>
      <Group gap="xs">
        <Text size="sm" fw={600}>
          {title}
        </Text>
        <Text size="xs" c="dimmed" className="figure">
          {formatBytes(bytes)}
        </Text>
      </Group>
      <Group gap={4}>{children}</Group>
    </Group>
  );
}

/** An error of a worker: its message, and the traceback folded below it. */
export function WorkerError({ message, type, traceback, children }: JobErrorText & { children?: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Paper withBorder className="worker-error" role="alert">
      <Text size="sm" fw={600} className="bad">
        {type ?? 'Error'}
      </Text>
      <Text size="sm" className="reason" component="div">
        {message}
      </Text>
      {traceback !== null && (
        <>
          <Button
            variant="subtle"
            color="gray"
            size="compact-xs"
            mt={6}
            ml={-8}
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? 'Hide traceback' : 'Show traceback'}
          </Button>
          {isOpen && (
            <Code block className="payload" tabIndex={0} role="region" aria-label="Traceback">
              {traceback}
            </Code>
          )}
        </>
      )}
      {children}
    </Paper>
  );
}
