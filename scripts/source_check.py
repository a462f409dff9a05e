"""What the source checks share: which files they read and how they report."""
import pathlib
import sys

NOT_OURS = ("build", "node_modules", "data")


def source_files(root: pathlib.Path):
    """C++ sources and headers below root with their relative paths, in order."""
    for path in sorted(root.glob("**/*.[ch]pp")):
        relative = path.relative_to(root)
        if relative.parts[0] not in NOT_OURS and not relative.parts[0].startswith("."):
            yield path, relative


def run(name: str, violations):
    """Prints each violation of the tree given as first argument, by default this one; the exit code."""
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    found = list(violations(root))
    print("\n".join(found) if found else f"{name}: ok")
    return 1 if found else 0
