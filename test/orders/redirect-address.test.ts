import { describe, expect, test } from 'vitest';
import { getOrderTask } from '../../src/orders/tasks.ts';

const checkRedirect = (fields: Readonly<Record<string, unknown>>) =>
  getOrderTask('redirect').check({
    source: 'www.cafe.rest',
    target: 'https://www.example.com/menu',
    type: 'DOMAIN',
    mode: 'HTTP',
    ...fields,
  });
const readNamesOrIssues = (source: string) => {
  const checked = checkRedirect({ source });
  return checked.ok ? checked.names : checked.issues.map(({ field, code }) => ({ field, code }));
};

describe('the source of a redirect', () => {
  test.each([
    ['cafe.rest', 'cafe.rest'],
    ['WWW.Cafe.REST.', 'www.cafe.rest'],
    ['HTTP://cafe.rest/', 'cafe.rest/'],
    ['cafe.rest//', 'cafe.rest//'],
    ['https://cafe.rest/a@b:c/', 'cafe.rest/a@b:c/'],
    ['cafe.rest/menü/日本/é', 'cafe.rest/menü/日本/é'],
    ['ｃａｆｅ。rest', 'cafe.rest'],
    ['café.rest/menu', 'xn--caf-dma.rest/menu'],
    ['Info@Cafe.rest.', 'Info@cafe.rest'],
    ['<http://cafe.rest/menu|cafe.rest/menu>', 'cafe.rest/menu'],
    ['<mailto:info@cafe.rest|info@cafe.rest>', 'info@cafe.rest'],
  ])('(%s) is sent as %s', (typed, sent) => {
    expect(readNamesOrIssues(typed)).toEqual([sent]);
    expect(readNamesOrIssues(sent)).toEqual([sent]);
  });

  test.each([
    'cafe.rest..',
    '.cafe.rest',
    '//cafe.rest',
    'cafe.rest?',
    'cafe.rest?a',
    'cafe.rest/a?b',
    'cafe.rest#x',
    'cafe.rest/#x',
    'cafe.rest:',
    'cafe.rest:80',
    'http://http://cafe.rest',
    'ftp://cafe.rest',
    'http:cafe.rest',
    'http:/cafe.rest',
    'a@b@cafe.rest',
    '@cafe.rest',
    'http://info@cafe.rest',
    'info:secret@cafe.rest',
    'info@cafe.rest/menu',
    'info%40bar.rest@cafe.rest',
    'cafe%2Erest',
    'cafe.rest/%2e',
    'cafe.rest\\@bar.rest',
    'cafe.rest/\\bar.rest',
    '*.cafe.rest',
    '_x.cafe.rest',
    '[::1]',
    '127.0.0.1',
    '0x7f.1',
    'localhost',
    'cafe .rest',
    'cafe.rest/a b',
    'cafe.rest/a\u00a0b',
    'cafe.rest/a\u202eb',
    'cafe.rest/a\uff0fb',
    'cafe.rest/a\uff1fb',
    '<http://bar.rest|cafe.rest>',
  ])('(%s) is refused', (typed) => {
    expect(readNamesOrIssues(typed)).toEqual([{ field: 'source', code: 'redirect_source_malformed' }]);
  });
});

describe('the target of a redirect', () => {
  const listRefusedFields = (fields: Readonly<Record<string, unknown>>) => {
    const checked = checkRedirect(fields);
    return checked.ok ? [] : checked.issues.map(({ field }) => field);
  };

  test.each([
    'https://www.example.com/menu?a=b#c',
    'www.example.com/menu',
    'example.com:8080',
    'http://198.51.100.7/',
    'https://[2001:db8::1]:8443/x',
    'https://café.example/',
  ])('may be %s', (target) => {
    expect(listRefusedFields({ target, backup: target })).toEqual([]);
  });

  test.each([
    'https://bank.example@evil.example/',
    'https://bank.example\\@evil.example/',
    'https:///example.com',
    'https://https://example.com',
    'javascript://example.com/%0aalert(1)',
    'https://exa%6dple.com/',
    'https://example..com/',
    'https://0x7f.1/',
    'https://example.com:port/',
    'nowhere',
  ])('can’t be %s', (target) => {
    expect(listRefusedFields({ target, backup: target })).toEqual(['target', 'backup']);
  });
});
