import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useBlocker } from 'react-router';
import { discardForms, hasUnsavedForms } from '../ui/forms/unsaved.ts';

/** Asks before a page with an unsaved form is left. Another filter or tab of the same page is not leaving. */
export function LeaveGuard() {
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => currentLocation.pathname !== nextLocation.pathname && hasUnsavedForms(),
  );
  const leave = () => blocker.proceed?.();
  const discard = () => {
    discardForms();
    leave();
  };
  return (
    <Modal.Root opened={blocker.state === 'blocked'} onClose={() => blocker.reset?.()}>
      <Modal.Overlay />
      {/* Without a header of Mantine's: a page has one banner. */}
      <Modal.Content aria-label="Unsaved changes">
        <Modal.Body>
          <Stack>
            <Text fw={600}>Leave with unsaved changes?</Text>
            <Text size="sm">They are not saved. What you keep is there when you come back in this tab.</Text>
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={() => blocker.reset?.()} data-autofocus>
                Stay
              </Button>
              <Button variant="default" color="red" onClick={discard}>
                Discard
              </Button>
              <Button onClick={leave}>Keep and leave</Button>
            </Group>
          </Stack>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
