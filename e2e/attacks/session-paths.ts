export async function pathsOfSessions(..._args: unknown[]) {}
