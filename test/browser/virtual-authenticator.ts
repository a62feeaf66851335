import type { CDPSession, Page } from 'playwright-core';

/** Gives a page a virtual authenticator that approves everything. */
export async function addVirtualAuthenticator(
  page: Page,
): Promise<{ readonly devtools: CDPSession; readonly authenticatorId: string }> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { devtools, authenticatorId };
}
