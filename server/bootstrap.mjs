/**
 * Stands between `npm start` and the TypeScript: uses nothing beyond what any Node from 20.19 on
 * brings. Installs what is missing, finds a Node that Pi accepts, builds the page when its sources
 * changed, then runs what was asked for, and ends it when its own parent goes.
 *
 *   node server/bootstrap.mjs start [FLAGS]
 *   node server/bootstrap.mjs run SCRIPT [ARGUMENTS]     a file, or a command of node_modules/.bin
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
	existsSync,
	readdirSync,
	readFileSync,
	realpathSync,
	rmSync,
	statSync,
	writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const PARENT_CHECK_MS = 250;
const BUILDS_KEPT = 3;

const [word, ...rest] = process.argv.slice(2);
install();
const node = findNode();
build();
if (word === 'start') {
	run([join(root, 'server/main.ts'), ...rest]);
} else if (word === 'run' && rest.length > 0) {
	const [script, ...args] = rest;
	const command = join(root, 'node_modules/.bin', script);
	run([existsSync(command) ? realpathSync(command) : join(root, script), ...args]);
} else {
	fail('Usage: node server/bootstrap.mjs start [FLAGS] | run SCRIPT [ARGUMENTS]');
}

function install() {
	const stamp = join(root, 'node_modules/.holdfast-installed');
	const wanted = hash([join(root, 'package-lock.json')]);
	if (readIfThere(stamp) === wanted) return;

	console.error('Holdfast: installing dependencies…');
	const npm = process.env.npm_execpath;
	const [command, args] = npm ? [process.execPath, [npm]] : ['npm', []];
	const { status, error } = spawnSync(
		command,
		[...args, 'ci', '--no-audit', '--no-fund', '--loglevel=error'],
		{
			cwd: root,
			// What `npm start` prints on stdout is read by programs; the installation is not for them.
			stdio: ['ignore', 2, 2],
		},
	);
	if (status !== 0)
		fail(
			`Holdfast could not install its dependencies${error ? `: ${error.message}` : ''}. The lines above say why; \`npm ci\` tries again.`,
		);
	writeFileSync(stamp, wanted);
}

/** Pi needs Node 22.19 or later. */
function findNode() {
	const [major, minor] = process.versions.node.split('.').map(Number);
	if (major > 22 || (major === 22 && minor >= 19)) return process.execPath;

	const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
	const file = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node';
	for (const name of [`node-${platform}`, `node-bin-${platform}`]) {
		try {
			return join(dirname(require.resolve(`${name}/package.json`)), file);
		} catch {
			// Not the package of this platform.
		}
	}
	return fail(
		`Holdfast needs Node 22.19 or later on ${platform}; this is ${process.versions.node}. Install a newer Node and start again.`,
	);
}

function build() {
	const pointer = join(root, 'dist/current');
	const sources = ['web', 'server'].flatMap((folder) =>
		readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
			.filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
			.map((entry) => join(entry.parentPath ?? entry.path, entry.name)),
	);
	const wanted = hash([...sources, join(root, 'vite.config.ts'), join(root, 'package-lock.json')]);
	const name = wanted.slice(0, 16);
	if (readIfThere(pointer) === name) return;

	console.error('Holdfast: building the page…');
	const vite = join(root, 'node_modules/vite/bin/vite.js');
	// Each build has a folder of its own: one that is being served stays whole.
	const { status } = spawnSync(
		node,
		[vite, 'build', '--logLevel', 'warn', '--outDir', join(root, 'dist', name)],
		{ cwd: root, stdio: ['ignore', 2, 2] },
	);
	if (status !== 0) fail('Holdfast could not build its page. The lines above say why.');
	writeFileSync(pointer, name);
	const builds = readdirSync(join(root, 'dist'), { withFileTypes: true })
		.filter((entry) => entry.isDirectory())
		.map((entry) => join(root, 'dist', entry.name))
		.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
	for (const old of builds.slice(BUILDS_KEPT)) rmSync(old, { recursive: true, force: true });
}

function run(args) {
	const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });

	for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
		process.on(signal, () => child.kill(signal));
	}
	// A signal to `npm start` may end npm or its shell and never reach this process.
	const parent = process.ppid;
	const npm = parentOf(parent);
	const watch = setInterval(() => {
		if (process.ppid !== parent || parentOf(parent) !== npm) child.kill('SIGTERM');
	}, PARENT_CHECK_MS);

	child.on('error', (error) => fail(`Holdfast could not start ${node}: ${error.message}`));
	child.on('exit', (code, signal) => {
		clearInterval(watch);
		process.exitCode = code ?? (signal === 'SIGTERM' || signal === 'SIGINT' ? 0 : 1);
	});
}

/** npm, when the parent is the shell in which it runs its scripts. Only Linux tells. */
function parentOf(pid) {
	const stat = process.env.npm_lifecycle_event ? readIfThere(`/proc/${pid}/stat`) : undefined;
	return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
}

function hash(files) {
	const digest = createHash('sha256');
	for (const file of [...files].sort())
		digest.update(file).update('\0').update(readFileSync(file)).update('\0');
	return digest.digest('hex');
}

function readIfThere(file) {
	return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

function fail(message) {
	console.error(message);
	process.exit(1);
}
