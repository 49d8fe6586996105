import { Button, CopyButton, Group, JsonInput, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { request } from '../../../api/client.ts';
import { ErrorAlert } from '../../../ui/error-alert.tsx';
import { useUnsaved } from '../../../ui/forms/unsaved.ts';
import { notifySuccess } from '../../../ui/notify.ts';
import { canRetry, isFinal } from './job-status.ts';
import type { JobDetail } from './job-steps.ts';
import { formatBytes, isJson, prettyJson } from './payload-text.ts';

/** Longer inputs are no longer edited by hand. */
const MAX_EDITED_BYTES = 256 * 1024;

interface JobActionsProps {
  endpointId: string;
  job: JobDetail;
  onOpen: (jobId: string) => void;
}

/** Retry, run again, edit and run, cancel, share. */
export function JobActions({ endpointId, job, onOpen }: JobActionsProps) {
  const [isEditing, { open, close }] = useDisclosure(false);
  const { retry, again, error } = useJobActions(endpointId, job, onOpen);
  return (
    <Stack gap="xs">
      {error && <ErrorAlert error={error} />}
      <Group gap="xs">
        {canRetry(job) && (
          <Button size="xs" onClick={() => retry.mutate()} loading={retry.isPending} title="Runs it under the same ID">
            Retry
          </Button>
        )}
        {isFinal(job) && (
          <Button
            size="xs"
            variant="default"
            onClick={() => again.mutate(undefined)}
            loading={again.isPending}
            title="Queues a copy as a new job"
          >
            Run again
          </Button>
        )}
        <Button size="xs" variant="default" onClick={open}>
          Edit and run
        </Button>
        {!isFinal(job) && <CancelButton endpointId={endpointId} job={job} />}
        <CopyButton value={globalThis.location.href}>
          {({ copied, copy }) => (
            <Button size="xs" variant="default" onClick={copy}>
              {copied ? 'Copied' : 'Copy link'}
            </Button>
          )}
        </CopyButton>
        {job.workerId !== null && (
          <Button size="xs" variant="subtle" component={Link} to={`/endpoints/${endpointId}/logs?job=${job.id}`}>
            Logs
          </Button>
        )}
      </Group>
      <Modal opened={isEditing} onClose={close} title="Edit and run as a new job" size="lg">
        <EditForm
          endpointId={endpointId}
          job={job}
          onSent={(id) => {
            close();
            onOpen(id);
          }}
        />
      </Modal>
    </Stack>
  );
}

function useJobActions(endpointId: string, job: JobDetail, onOpen: (jobId: string) => void) {
  const queries = useQueryClient();
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ['job', endpointId] });
    void queries.invalidateQueries({ queryKey: ['jobs', endpointId] });
  };
  const retry = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: () => request(`/v2/${endpointId}/retry/${job.id}`, { method: 'POST' }),
    onSuccess: refresh,
  });
  const again = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: (input: string | undefined) => resubmit(endpointId, job.id, input),
    onSuccess: (id) => {
      notifySuccess('Queued as a new job.');
      refresh();
      onOpen(id);
    },
  });
  return { retry, again, error: retry.error ?? again.error };
}

/** `input` is JSON text, sent as it was typed. */
async function resubmit(endpointId: string, jobId: string, input: string | undefined): Promise<string> {
  const body =
    input === undefined ? {} : { body: `{"input":${input}}`, headers: { 'content-type': 'application/json' } };
  const response = await request(`/v2/${endpointId}/resubmit/${jobId}`, { method: 'POST', ...body });
  return ((await response.json()) as { id: string }).id;
}

/** Cancelling asks for a second click: it cannot be undone. */
function CancelButton({ endpointId, job }: { endpointId: string; job: JobDetail }) {
  const [isSure, { open: ask, close }] = useDisclosure(false);
  const queries = useQueryClient();
  const cancellation = useMutation({
    mutationFn: () => request(`/v2/${endpointId}/cancel/${job.id}`, { method: 'POST' }),
    onSettled: () => {
      close();
      void queries.invalidateQueries({ queryKey: ['job', endpointId, job.id] });
      void queries.invalidateQueries({ queryKey: ['jobs', endpointId] });
    },
  });
  return (
    <Button
      size="xs"
      color="red.9"
      variant={isSure ? 'filled' : 'default'}
      loading={cancellation.isPending}
      onClick={isSure ? () => cancellation.mutate() : ask}
    >
      {isSure ? 'Cancel it for good' : 'Cancel job'}
    </Button>
  );
}

function EditForm({ endpointId, job, onSent }: { endpointId: string; job: JobDetail; onSent: (id: string) => void }) {
  const isLarge = job.inputBytes > MAX_EDITED_BYTES;
  const path = `/v2/serverless/${endpointId}/requests/${job.id}/input`;
  const query = useQuery({
    queryKey: ['payload', path, ''],
    enabled: !isLarge,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => (await request(path, { signal })).text(),
  });
  if (isLarge) {
    return (
      <Text size="sm">
        The input has {formatBytes(job.inputBytes)}, too much to edit here. Download it, and send it over the API.
      </Text>
    );
  }
  if (query.error) return <ErrorAlert error={query.error} retry={() => void query.refetch()} />;
  if (query.data === undefined) return <Skeleton h={200} aria-label="Loading" />;
  return <InputForm endpointId={endpointId} job={job} initial={prettyJson(query.data)} onSent={onSent} />;
}

function InputForm(props: { endpointId: string; job: JobDetail; initial: string; onSent: (id: string) => void }) {
  const { endpointId, job, initial, onSent } = props;
  const [input, setInput] = useState(initial);
  useUnsaved(input !== initial);
  const { again, error } = useJobActions(endpointId, job, onSent);
  const isValid = isJson(input);
  return (
    <Stack>
      <JsonInput
        label="New input"
        description="Its webhook, limits and priority are copied."
        value={input}
        onChange={setInput}
        autosize
        minRows={8}
        maxRows={24}
        error={isValid ? null : 'Not valid JSON'}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        data-autofocus
      />
      {error && <ErrorAlert error={error} />}
      <Group justify="flex-end">
        <Button onClick={() => again.mutate(input)} loading={again.isPending} disabled={!isValid}>
          Run as a new job
        </Button>
      </Group>
    </Stack>
  );
}
