import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, ConfigError, parseVaultKeys, type VaultKeys } from './environment.ts';

export function getCredentialsKeyFile({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'credentials.key');
}

/**
 * Returns `CREDENTIALS_KEYS` or, without it, the key in the data folder's key file, which is created if missing.
 * @throws {ConfigError} if the file can't be read, written or used
 */
export function loadCredentialsKeys(config: Pick<Config, 'credentialsKeys' | 'dataDir'>): VaultKeys {
  if (config.credentialsKeys !== undefined) return config.credentialsKeys;
  const file = getCredentialsKeyFile(config);
  try {
    // With a random id, values that were encrypted with a lost key are recognized and reported as unreadable.
    const newKey = `made-${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64')}\n`;
    mkdirSync(config.dataDir, { recursive: true });
    writeFileSync(file, newKey, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (getErrorCode(error) !== 'EEXIST')
      throw new ConfigError(`${file} can’t be written (${getErrorCode(error)}).`);
  }
  try {
    const keys = parseVaultKeys(readFileSync(file, 'utf8').trim());
    if (keys !== undefined) return keys;
  } catch (error) {
    throw new ConfigError(`${file} can’t be read (${getErrorCode(error)}).`);
  }
  throw new ConfigError(`${file} has no valid key. Restore it from your copy, or set CREDENTIALS_KEYS.`);
}

function getErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
