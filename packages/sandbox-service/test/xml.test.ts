import { Secret, TOTP } from 'otpauth';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { SANDBOX_ACCOUNTS } from '../src/accounts.ts';
import { START, startSandbox } from './sandbox.ts';

const { alice, tina, trustedApplication } = SANDBOX_ACCOUNTS;

const AUTH = buildAuthElement(alice);
const OPEN_SESSION = '<task><code>1321001</code></task>';

function buildAuthElement(
  account: { user: string; context: number; password: string },
  token?: string,
): string {
  const { user, context, password } = account;
  const tokenElement = token === undefined ? '' : `<token>${token}</token>`;
  return `<auth><user>${user}</user><context>${context}</context><password>${password}</password>${tokenElement}</auth>`;
}

function buildXmlRequest(authBlock: string, task: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<request>\n  ${authBlock}\n  ${task}\n</request>`;
}

function generateToken(time: number): string {
  return new TOTP({ secret: Secret.fromBase32(tina.totpSecret) }).generate({ timestamp: time });
}

describe('the documented tasks', () => {
  it('1321001 opens a session with a hash, and 1321003 ends it', async () => {
    const { sendXml } = await startSandbox();
    const opened = await sendXml(buildXmlRequest(AUTH, OPEN_SESSION));
    expect(opened).toMatchObject({ status: 200, code: 'S1321001', type: 'success' });
    expect(opened.text).toMatch(/<stid>20270227-sandbox1-\d+<\/stid>/);
    const [, hash] = /<auth_session><hash>([0-9a-f-]{36})<\/hash><\/auth_session>/.exec(opened.text) ?? [];
    const session = `<auth_session><hash>${hash}</hash></auth_session>`;
    const update = '<task><code>400202</code><contact><id>501</id><city>Bern</city></contact></task>';
    expect((await sendXml(buildXmlRequest(session, update))).code).toBe('S400202');
    expect((await sendXml(buildXmlRequest(session, '<task><code>1321003</code></task>'))).code).toBe(
      'S1321003',
    );
    expect(await sendXml(buildXmlRequest(session, update))).toMatchObject({ status: 401, type: 'error' });
  });

  it('1321001 opens a session that ends after 10 minutes', async () => {
    const { sendXml, advanceClock, service } = await startSandbox();
    const { text } = await sendXml(buildXmlRequest(AUTH, OPEN_SESSION));
    const [, hash] = /<hash>(.*)<\/hash>/.exec(text) ?? [];
    advanceClock(10 * 60_000);
    const lateAnswer = await sendXml(
      buildXmlRequest(`<auth_session><hash>${hash}</hash></auth_session>`, OPEN_SESSION),
    );
    expect(lateAnswer.explanation).toMatch(/unknown or has ended/);
    expect(service.sessions.countActive()).toBe(0);
  });

  it('0110005 searches preregistrations', async () => {
    const { sendXml } = await startSandbox();
    const view = '<view><children>true</children><offset>2</offset><limit>2</limit></view>';
    const buildCondition = (key: string, value: string) =>
      `<and><key>${key}</key><operator>like</operator><value>${value}</value></and>`;
    const where = `<where>${buildCondition('tld', 'rest')}${buildCondition('sld', 'table-0%')}</where>`;
    const keysAndOrder =
      '<key>tmch_mark</key><key>nsentry</key><order><key>name</key><mode>asc</mode></order>';
    const answer = await sendXml(
      buildXmlRequest(AUTH, `<task><code>0110005</code>${view}${where}${keysAndOrder}</task>`),
    );
    expect(answer.code).toBe('S0110005');
    expect(answer.result).toMatchObject({
      data: {
        summary: '99',
        domain_prereg: [
          {
            name: 'table-003.rest',
            created: '2026-11-01 12:00:00',
            nserver: [{ name: 'ns1.dns.example' }, { name: 'ns2.dns.example' }],
            order_reference: 'order-9003',
            prereg_config: { period_start: '2026-12-11 12:00:00' },
            tmch_mark: { id: 'mark-9003' },
            nsentry: expect.anything(),
          },
          { name: 'table-004.rest' },
        ],
      },
    });
    expect(answer.text).not.toContain('<extension>');
    expect(answer.text).not.toContain('<ownerc>');
  });

  it('accept values with entities, character references and CDATA', async () => {
    const erin = { user: 'erin', context: 4, password: ' <ä&🍰"]]> ' };
    const { sendXml } = await startSandbox({ users: [erin] });
    for (const encodedPassword of [
      ' &lt;ä&amp;🍰"]]&gt; ',
      '&#32;&#x3c;&#228;&#38;&#x1F370;&quot;]]&gt; ',
      '<![CDATA[ <ä&🍰"]]]]><![CDATA[> ]]>',
    ]) {
      const answer = await sendXml(
        buildXmlRequest(buildAuthElement({ ...erin, password: encodedPassword }), OPEN_SESSION),
      );
      expect(`${encodedPassword} ${answer.explanation}`).toContain('session was created');
    }
  });
});

describe('access', () => {
  it('is allowed once per token for a two-factor user', async () => {
    const { sendXml, advanceClock } = await startSandbox();
    const openSession = (token?: string) =>
      sendXml(buildXmlRequest(buildAuthElement(tina, token), OPEN_SESSION));
    expect(await openSession()).toMatchObject({
      status: 401,
      explanation: expect.stringMatching(/needs a two-factor token/),
    });
    expect((await openSession('000000')).explanation).toMatch(/invalid or expired/);
    expect((await openSession(generateToken(START - 30_000))).code).toBe('S1321001');
    expect((await openSession(generateToken(START))).code).toBe('S1321001');
    expect((await openSession(generateToken(START))).explanation).toMatch(/already used/);
    expect((await openSession(generateToken(START - 30_000))).explanation).toMatch(/already used/);
    advanceClock(60_000);
    expect((await openSession(generateToken(START))).explanation).toMatch(/invalid or expired/);
    expect((await openSession(generateToken(START + 90_000))).code).toBe('S1321001');
  });

  it('is allowed with a token for the real time, regardless of the registry’s clock', async () => {
    const { sendXml, service } = await startSandbox();
    service.clock.setOffset(40 * 86_400_000);
    expect(
      (await sendXml(buildXmlRequest(buildAuthElement(tina, generateToken(START)), OPEN_SESSION))).code,
    ).toBe('S1321001');
  });

  it('is allowed for a trusted application that sends its name', async () => {
    const { sendXml } = await startSandbox();
    const { uuid, application, password } = trustedApplication;
    const buildAuthBlock = (name: string) =>
      `<authentication><trusted_application><uuid>${uuid}</uuid><password>${password}</password>` +
      `<application><name>${name}</name></application></trusted_application></authentication>`;
    const task = '<task><code>400202</code><contact><id>501</id><city>Bern</city></contact></task>';
    expect((await sendXml(buildXmlRequest(buildAuthBlock(application), task))).code).toBe('S400202');
    expect(await sendXml(buildXmlRequest(buildAuthBlock('other'), task))).toMatchObject({ status: 401 });
  });

  const unknownSession = '<auth_session><hash>00000000-0000-4000-8000-000000000000</hash></auth_session>';
  it.each<[string, string, number, RegExp]>([
    ['no credentials', '', 401, /no authentication block/],
    ['a wrong password', buildAuthElement({ ...alice, password: 'wrong' }), 401, /wrong/],
    ['an unknown session', unknownSession, 401, /unknown/],
    ['an invalid hash', '<auth_session><hash>1</hash></auth_session>', 200, /UUID/],
    [
      'a token of a user without two-factor login',
      buildAuthElement(alice, '123456'),
      401,
      /not a two-factor/,
    ],
    ['a token with letters', buildAuthElement(tina, 'abcdef'), 200, /six digits/],
    ['two authentication blocks', `${AUTH}${unknownSession}`, 200, /one authentication block/],
    ['an invalid context', AUTH.replace('>4<', '> 4<'), 200, /context/],
    ['an undocumented element', AUTH.replace('</auth>', '<otp>1</otp></auth>'), 200, /unknown element otp/],
  ])('is refused with %s', async (_, block, status, textPattern) => {
    const { sendXml } = await startSandbox();
    const answer = await sendXml(buildXmlRequest(block, OPEN_SESSION));
    expect(answer.explanation).toMatch(textPattern);
    expect(answer).toMatchObject({ status, type: 'error', code: expect.stringMatching(/^EF\d{5,7}$/) });
  });
});

describe('an invalid request', () => {
  const buildRedirectRequest = (fields: string) =>
    buildXmlRequest(AUTH, `<task><code>0502</code><redirect>${fields}</redirect></task>`);
  const VALID_FIELDS =
    '<type>domain</type><mode>frame</mode><source>shop.cafe.rest</source><target>a.example</target>';
  it.each<[string, string, RegExp]>([
    ['truncated', buildXmlRequest(AUTH, OPEN_SESSION).slice(0, -5), /well-formed/],
    ['two roots', '<request/><request/>', /one root element/],
    ['document type', `<!DOCTYPE r><request>${AUTH}${OPEN_SESSION}</request>`, /DOCTYPE/],
    ['attribute', buildXmlRequest(AUTH, '<task id="1"><code>1321001</code></task>'), /attributes/],
    ['entity', buildXmlRequest(AUTH, '<task><code>&nbsp;</code></task>'), /entity/],
    ['control character', buildXmlRequest(AUTH, '<task><code>&#1;</code></task>'), /entity/],
    ['another root', `<order>${AUTH}${OPEN_SESSION}</order>`, /root element must be request/],
    ['wrong order of blocks', `<request>${OPEN_SESSION}${AUTH}</request>`, /then the task/],
    ['code without its leading zero', buildXmlRequest(AUTH, '<task><code>502</code></task>'), /no task 502/],
    ['blank in the code', buildXmlRequest(AUTH, '<task><code> 1321001 </code></task>'), /no task/],
    [
      'unknown task element',
      buildXmlRequest(AUTH, '<task><code>1321001</code><ctid>1</ctid></task>'),
      /unknown element ctid/,
    ],
    ['unknown element', buildRedirectRequest(`${VALID_FIELDS}<frame>1</frame>`), /unknown element frame/],
    ['element twice', buildRedirectRequest(`${VALID_FIELDS}<type>domain</type>`), /given twice/],
    [
      'missing element',
      buildRedirectRequest(VALID_FIELDS.replace('<target>a.example</target>', '')),
      /target is missing/,
    ],
    [
      'JSON spelling',
      buildRedirectRequest(VALID_FIELDS.replace('>domain<', '>DOMAIN<')),
      /type: must be one of domain, email/,
    ],
    [
      'unknown mode',
      buildRedirectRequest(VALID_FIELDS.replace('>frame<', '>http<')),
      /mode: must be one of frame, single/,
    ],
    ['changed type', buildRedirectRequest(VALID_FIELDS.replace('>domain<', '>email<')), /cannot change/],
    ['text between elements', buildRedirectRequest(`loose${VALID_FIELDS}`), /text between/],
  ])('is refused: %s', async (_, body, textPattern) => {
    const { sendXml } = await startSandbox();
    const answer = await sendXml(body);
    expect(answer.explanation).toMatch(textPattern);
    expect(answer).toMatchObject({ status: 200, type: 'error' });
  });

  it('is refused because of its method, content type or query', async () => {
    const { service } = await startSandbox();
    const headers = { 'content-type': 'text/xml' };
    const body = buildXmlRequest(AUTH, OPEN_SESSION);
    const fetchStatusAndText = async (url: string, options: Parameters<typeof request>[1]) => {
      const answer = await request(url, options);
      return [answer.statusCode, /<text>(.*?)<\/text>/.exec(await answer.body.text())?.[1]];
    };
    expect(await fetchStatusAndText(service.xmlUrl, { method: 'GET' })).toEqual([405, 'GET: POST is needed']);
    const jsonOptions = { method: 'POST', headers: { 'content-type': 'application/json' }, body } as const;
    expect(await fetchStatusAndText(service.xmlUrl, jsonOptions)).toEqual([
      415,
      expect.stringMatching(/text\/xml/),
    ]);
    const queryAnswer = await fetchStatusAndText(`${service.xmlUrl}?ctid=1`, {
      method: 'POST',
      headers,
      body,
    });
    expect(queryAnswer).toEqual([200, expect.stringMatching(/no parameters/)]);
  });
});
