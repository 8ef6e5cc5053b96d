import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Pi, PiError } from './pi.ts';
import type { PiCommand } from './pi.ts';

/** Our extension, where it lies on this machine. */
export const EXTENSION = fileURLToPath(new URL('./extension.ts', import.meta.url));

const PATIENCE_MS = 30_000;

/**
 * Gives our extension to a Pi that does not see our files (`ssh host pi`, `docker exec -i box pi`):
 * through Pi itself, by a command in a session that leaves nothing behind, into the cache folder of
 * the user over there. Returns its path there.
 * @throws {PiError} when that Pi cannot be started or cannot write the file
 */
export async function handExtensionOver(
	pi: PiCommand,
	options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<string> {
	const source = readFileSync(EXTENSION);
	const name = `extension-${createHash('sha256').update(source).digest('hex').slice(0, 16)}.ts`;
	const script = handOver(source.toString('base64'), name);

	const messenger = new Pi(
		{
			command: pi.command,
			args: [...pi.args, '--mode', 'rpc', '--no-session', '--no-extensions'],
		},
		{ ...options, onrecord: () => {} },
	);
	const timer = setTimeout(() => messenger.kill(), PATIENCE_MS);
	try {
		const { output, exitCode } = await messenger.ask({
			type: 'bash',
			command: script,
			excludeFromContext: true,
		});
		if (exitCode === 0) return output.trim();
		throw new PiError(`Pi could not take Holdfast's extension over there: ${output.trim()}`);
	} finally {
		clearTimeout(timer);
		void messenger.close();
	}
}

/** Writes the file, whole or not at all, and prints its path. */
const handOver = (base64: string, name: string) => `set -e
folder="\${XDG_CACHE_HOME:-$HOME/.cache}/holdfast"
mkdir -p -m 700 "$folder"
file="$folder/${name}"
base64 -d > "$file.new" <<'END'
${base64.replace(/.{76}/g, '$&\n')}
END
mv "$file.new" "$file"
echo "$file"`;
