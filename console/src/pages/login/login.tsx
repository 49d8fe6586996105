import { Button, Group, Paper, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useSearchParams } from 'react-router';
import { accountQuery } from '../../api/queries.ts';
import { post } from '../../api/sign-in-calls.ts';
import { ErrorText } from '../../ui/error-alert.tsx';
import { Page } from '../../ui/page.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { readWaitingCli, returnUrl, type WaitingCli } from './login-values.ts';

const LIFETIMES = [
  { value: '1', label: 'In 1 day' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In 1 year' },
];

/** Approves a command line that signs in: the one of the address, or one whose code a person types. */
export function LoginPage() {
  const [query] = useSearchParams();
  const waiting = readWaitingCli(query);
  return (
    <Page title="Sign in on the command line">
      <Paper withBorder p="xl" maw={560}>
        {waiting === null ? <ByCode /> : <Here waiting={waiting} />}
      </Paper>
    </Page>
  );
}

/** The command line runs on the machine of this browser, which returns to it. */
function Here({ waiting }: { waiting: WaitingCli }) {
  const { host, challenge } = waiting;
  const approval = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: async (days: number) => {
      const { code } = (await post('cli/approve', { challenge, host, days })) as { code: string };
      location.replace(returnUrl(waiting, code));
    },
  });
  return (
    <Decision
      host={host}
      place="on this computer"
      error={approval.error}
      isPending={approval.isPending || approval.isSuccess}
      onApprove={(days) => approval.mutate(days)}
      onDeny={() => location.replace(returnUrl(waiting, null))}
    />
  );
}

interface Found {
  host: string;
  address: string;
}

/** The command line runs elsewhere, and shows a code. */
function ByCode() {
  const [userCode, setUserCode] = useState('');
  const search = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: async () => (await post('cli/device/find', { userCode })) as Found,
  });
  const decision = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: async (days: number | null) => {
      await post(`cli/device/${days === null ? 'deny' : 'approve'}`, days === null ? { userCode } : { userCode, days });
      return days !== null;
    },
  });
  if (decision.isSuccess) {
    return (
      <Text role="status">
        {decision.data
          ? 'The command line signs in within seconds. You can close this tab.'
          : 'Denied: the command line gets nothing.'}
      </Text>
    );
  }
  if (search.data) {
    const { host, address } = search.data;
    return (
      <Decision
        host={host}
        place={`from ${address}`}
        error={decision.error}
        isPending={decision.isPending}
        onApprove={(days) => decision.mutate(days)}
        onDeny={() => decision.mutate(null)}
      />
    );
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    search.mutate();
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {search.error && <ErrorText error={search.error} />}
        <TextInput
          label="Code"
          description="As podyard login --device shows it. Never type a code that somebody else sent you."
          placeholder="XXXX-XXXX"
          autoComplete="off"
          autoFocus
          required
          withAsterisk={false}
          value={userCode}
          onChange={(event) => setUserCode(event.currentTarget.value)}
        />
        <Button type="submit" loading={search.isPending} disabled={userCode.trim() === ''}>
          Continue
        </Button>
      </Stack>
    </form>
  );
}

interface DecisionProps {
  host: string;
  /** Where it runs, as far as this page knows. */
  place: string;
  error: Error | null;
  isPending: boolean;
  onApprove: (days: number) => void;
  onDeny: () => void;
}

/** Shows the requesting program and the rights it would get. */
function Decision({ host, place, error, isPending, onApprove, onDeny }: DecisionProps) {
  const [days, setDays] = useState('90');
  const { name } = useQuery(accountQuery).data ?? { name: '…' };
  return (
    <Stack>
      {error && <ErrorText error={error} />}
      <Text>
        The command line on <b>{visibleText(host)}</b> ({place}) asks to act as <b>{visibleText(name)}</b>.
      </Text>
      <Text size="sm">
        It gets an API key of its own, “CLI on {visibleText(host)}”, which may do whatever you may do here, terminals
        included. You can revoke it under API keys.
      </Text>
      <Text size="sm">Approve it only if you have just run podyard login there yourself.</Text>
      <Select
        label="Expires"
        data={LIFETIMES}
        value={days}
        allowDeselect={false}
        onChange={(value) => setDays(value ?? '90')}
      />
      <Group>
        <Button loading={isPending} onClick={() => onApprove(Number(days))}>
          Approve
        </Button>
        <Button variant="default" disabled={isPending} onClick={onDeny}>
          Deny
        </Button>
      </Group>
    </Stack>
  );
}
